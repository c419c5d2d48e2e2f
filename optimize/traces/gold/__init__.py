"""Right replies: an engine that answers the steps of a program for questions with known answers.

    with gold_engine(program, questions) as (name, engine), lms.session(name):
        program(question=questions[0].question)

Each reply is computed from its prompt, the graph and the right answer, with one module per kind of step. `engine`
lists the steps, and why the replies to others cannot be computed.
"""
