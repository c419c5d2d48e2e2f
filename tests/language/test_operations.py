"""What a question computes and what must hold, for each kind in several phrasings."""

from __future__ import annotations

import pytest

from triplecheck.language.operations import end_of_unit
from triplecheck.language.question import Question, read_question
from triplecheck.language.rewording import asking_for_things


def read(text: str) -> Question:
    """Names in stars are topics: "Who leads *Acme*?"."""
    parts = text.split("*")
    return read_question("".join(parts), parts[1::2])


class TestWhatIsAskedFor:
    @pytest.mark.parametrize(
        ("text", "kind", "noun", "is_list"),
        [
            ("Who leads *Acme*?", "person", "", False),
            ("by whom was *acme* founded", "person", "", False),
            ("Where was *Mary Dunn* born?", "place", "", False),
            ("when did *mary dunn* die", "time", "", False),
            ("In which year did *Mary Dunn* die?", "time", "year", False),
            ("*mary dunn* was born on what date", "time", "date", False),
            ("How many bridges cross the *Tane*?", "number", "bridges", True),
            ("how tall is *Mary Dunn*", "number", "", False),
            ("What fishing boats does *Acme* own?", "thing", "fishing boats", True),
            ("which harbours does *acme* use", "thing", "harbours", True),
            ("List all novels by *Mary Dunn*.", "thing", "novels", True),
            ("name a novel that *mary dunn* wrote", "thing", "novel", False),
            ("What are the harbours of *Norland*?", "thing", "harbours", True),
            ("Which of the harbours belong to *Norland*?", "thing", "harbours", True),
            ("Is *Mary Dunn* a painter?", "yes or no", "", False),
            ("did *mary dunn* write *The Quay*", "yes or no", "", False),
            ("Can you say who leads *Acme*?", "person", "", False),
            ("Why did *Mary Dunn* leave *Norland*?", "reason", "", False),
        ],
    )
    def test_the_kind_and_the_noun(self, text: str, kind: str, noun: str, is_list: bool) -> None:
        asked = read(text).asked
        assert (asked.kind, asked.noun, asked.is_list) == (kind, noun, is_list)

    @pytest.mark.parametrize(
        ("text", "attribute"),
        [
            ("How old is *Mary Dunn*?", "age"),
            ("how far is *Aro* from *Bry*", "distance"),
            ("where does *Mary Dunn* come from", "origin"),
            ("When was *Acme* founded?", "date"),
        ],
    )
    def test_the_attribute(self, text: str, attribute: str) -> None:
        assert attribute in read(text).asked.attribute.split()


class TestComparisons:
    @pytest.mark.parametrize(
        ("text", "lemma", "degree", "operation", "quantity"),
        [
            ("Which tower is the tallest?", "tall", "Sup", "max", "height"),
            ("what is the least populous town of *Norland*", "populous", "Sup", "min", "population"),
            ("Which is the most expensive boat?", "expensive", "Sup", "max", "price"),
            ("which town has the fewest bridges", "few", "Sup", "min", "bridges"),
            ("Which town has the largest harbour?", "large", "Sup", "max", "area"),
            ("Is *Aro* deeper than *Bry*?", "deep", "Cmp", "max", "depth"),
            ("which has more bridges, *aro* or *bry*", "more", "Cmp", "max", "bridges"),
            ("Which is the most fragrant tea?", "fragrant", "Sup", "max", "fragrant"),
            ("What is the strongest magnet?", "strong", "Sup", "max", "strength"),
            ("What is the rarest mineral?", "rare", "Sup", "max", "rare"),
            ("Was *Mary Dunn* born before *Joe Lee*?", "before", "", "min", "date"),
            ("what was the first novel of *mary dunn*", "first", "", "min", "date"),
            ("Who was born later, *Mary Dunn* or *Joe Lee*?", "late", "Cmp", "max", "date"),
            ("what is the latest novel of *mary dunn*", "late", "Sup", "max", "date"),
            ("what is the most recent novel by *mary dunn*", "recent", "Sup", "max", "date"),
        ],
    )
    def test_what_is_compared(self, text: str, lemma: str, degree: str, operation: str, quantity: str) -> None:
        found = read(text).compares
        assert found is not None
        assert (found.lemma, found.degree, found.operation) == (lemma, degree, operation)
        assert quantity in found.quantity.split()

    @pytest.mark.parametrize(("kind", "like", "operation"), [("time", "", "min"), ("number", "age", "max")])
    def test_the_oldest_has_the_first_date_of_birth_and_the_largest_age(
        self, kind: str, like: str, operation: str
    ) -> None:
        found = read("Who is the oldest sailor?").compares
        assert found is not None
        assert found.over(kind, lambda quantity: float(like in quantity.split())).operation == operation

    def test_a_year_is_a_number_that_stands_for_a_time(self) -> None:
        found = read("Which is the newest boat?").compares
        assert found is not None
        assert found.over("number", lambda quantity: float("year" in quantity)).operation == "max"

    @pytest.mark.parametrize(
        "text",
        [
            "Who wrote *The Quay*?",
            "Who was king before *Joe Lee*?",
            "Where was *The Quay* first performed?",
            "Which towns have more than two bridges?",
            "Which sailors are older than 40?",
            "Which boats were built before 1990?",
            "Who is the best friend of *Mary Dunn*?",
        ],
    )
    def test_what_compares_nothing(self, text: str) -> None:
        assert read(text).compares is None

    @pytest.mark.parametrize(
        ("text", "place"),
        [
            ("Which is the second oldest boat?", 2),
            ("what is the third largest town in *norland*", 3),
            ("Who is the 4th tallest sailor?", 4),
            ("Which is the oldest boat?", None),
            ("Who fought in the *Second War*?", None),
        ],
    )
    def test_ordinals(self, text: str, place: int | None) -> None:
        found = read(text).ordinal
        assert (found and found.place) == place

    @pytest.mark.parametrize(
        ("text", "length"),
        [
            ("What are the three oldest boats?", 3),
            ("Which 2 boats are the longest?", 2),
            ("Name the four towns with the most bridges.", 4),
            ("top 5 longest rivers", 5),
            ("What are the top two boats by length?", 2),
            ("Which of the two boats is the longest, *Ada* or *Bo*?", None),
            ("Which boats have at least two masts and the longest hull?", None),
            ("Which boat is older than 3 years?", None),
            ("Which boat is the oldest?", None),
            ("Who owns two boats and is the oldest?", None),
            ("Which 1930 boat has the highest rating?", None),
            ("Which 3 bedroom flat has the lowest rent?", None),
            ("In 3 words, which boat is the oldest?", None),
            ("Between the two boats, which is the oldest?", None),
        ],
    )
    def test_how_many_of_an_order_are_asked_for(self, text: str, length: int | None) -> None:
        found = read(text).ordinal
        assert (found and found.length) == length

    def test_an_order_may_be_named(self) -> None:
        found = read("What are the top 3 boats by sail area?").compares
        assert found is not None and (found.operation, found.quantity) == ("max", "sail area")


class TestBounds:
    @pytest.mark.parametrize(
        ("text", "operator", "value", "quantity", "counts"),
        [
            ("Which towns have more than two bridges?", ">", 2, "bridges", True),
            ("which towns have at least 3 bridges", ">=", 3, "bridges", True),
            ("Which towns have fewer than ten bridges?", "<", 10, "bridges", True),
            ("Which boats have a crew of at most 12?", "<=", 12, "crew", False),
            ("Which towns have a population over 2,500?", ">", 2500, "population", False),
            ("which sailors are older than 40", ">", 40, "age", False),
            ("Which sailors are younger than 40?", "<", 40, "age", False),
            ("How many towers are taller than 90 metres?", ">", 90, "height", False),
            ("Which towns have two million inhabitants or more?", ">=", 2_000_000, "inhabitants", True),
        ],
    )
    def test_of_numbers(self, text: str, operator: str, value: float, quantity: str, counts: bool) -> None:
        (limit,) = read(text).limits
        assert (limit.operator, limit.value, limit.counts) == (operator, value, counts)
        assert quantity in limit.quantity.split()

    @pytest.mark.parametrize(
        ("text", "written", "start", "end"),
        [
            ("Who led *Acme* in 1993?", "in 1993", 1993, 1993),
            ("who led *acme* after 2005", "after 2005", 2006, None),
            ("Which boats were built before 1990?", "before 1990", None, 1989),
            ("Who has led *Acme* since the year 2001?", "since the year 2001", 2001, None),
            ("Who led *Acme* from 1999 to 2003?", "from 1999 to 2003", 1999, 2003),
            ("which boats were built between 2000 and 2012", "between 2000 and 2012", 2000, 2012),
            ("Who led *Acme* until 1980?", "until 1980", None, 1980),
            ("Who led *Acme* since the start of 1980?", "since the start of 1980", 1980, None),
            ("Who led *Acme* after the end of 1980?", "after the end of 1980", 1981, None),
            ("Who led *Acme* before the end of 1980?", "before the end of 1980", None, 1980),
            ("Who led *Acme* until the beginning of 1980?", "until the beginning of 1980", None, 1979),
            ("What was the capital before *1990*?", "before 1990", None, 1989),
            ("Which boats were built in the nineties?", "in the nineties", 1990, 1999),
            ("Which boats were built in the 1860s?", "in the 1860s", 1860, 1869),
            ("Which boats were built after the 1860s?", "after the 1860s", 1870, None),
        ],
    )
    def test_of_times(self, text: str, written: str, start: int | None, end: int | None) -> None:
        (limit,) = read(text).times
        assert (limit.text, limit.start, limit.end) == (written, start, end)

    def test_a_bound_of_a_length_is_no_time(self) -> None:
        low, high = read("Show me walks that are between 8 and 13 km long").limits
        assert low.quantity == high.quantity and {"length", "begin"} & set(low.quantity.split()) == {"length"}

    def test_numbers_of_a_unit_are_no_years(self) -> None:
        found = read("Which songs run for between 95 and 112 minutes?")
        assert found.times == () and [limit.value for limit in found.limits] == [95, 112]

    @pytest.mark.parametrize("text", ["Who leads *Acme*?", "Which towns have 1500 bridges?", "Who wrote *1984*?"])
    def test_there_are_none(self, text: str) -> None:
        assert read(text).limits == read(text).times == ()


class TestOtherConditions:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("Which boats are not owned by *Acme*?", "not"),
            ("who doesn't live in *norland*", "doesn't"),
            ("Which towns have no bridge?", "no"),
            ("Who never worked for *Acme*?", "never"),
            ("Which towns of *Norland* except *Aro* have bridges?", "except"),
            ("List the towns without a harbour.", "without"),
        ],
    )
    def test_negation(self, text: str, said: str) -> None:
        (negation,) = read(text).negations
        assert negation.text == said

    @pytest.mark.parametrize(
        ("text", "kind", "members"),
        [
            ("Which boats belong to both *Acme* and *Bolt*?", "and", ("Acme", "Bolt")),
            ("which boats are owned by *acme* or *bolt*", "or", ("acme", "bolt")),
            ("Which boats are owned by *Acme* and have *Aro* as their port?", "and", ("owned", "have")),
            ("Who is taller, *Mary Dunn* or *Joe Lee*?", "or", ("Mary Dunn", "Joe Lee")),
        ],
    )
    def test_what_is_joined(self, text: str, kind: str, members: tuple[str, ...]) -> None:
        (join,) = read(text).joins
        assert (join.kind, join.members) == (kind, members)

    @pytest.mark.parametrize(
        ("text", "aggregate"),
        [
            ("How many boats does *Acme* own?", "count"),
            ("what is the number of boats of *acme*", "count"),
            ("Count the boats of *Acme*.", "count"),
            ("How many sailors do the boats of *Acme* have in total?", "sum"),
            ("How old are *Mary Dunn* and *Joe Lee* together?", "sum"),
            ("What is the average age of the sailors?", "average"),
            ("how much heavier is *aro* than *bry*", "difference"),
            ("What is the difference in height between *Aro* and *Bry*?", "difference"),
            ("Which boats does *Acme* own?", None),
            ("What number did *Mary Dunn* wear?", None),
        ],
    )
    def test_aggregates(self, text: str, aggregate: str | None) -> None:
        found = read(text).aggregate
        assert (found and found.kind) == aggregate

    @pytest.mark.parametrize("text", ["Do *Aro* and *Bry* have the same port?", "do *aro* and *bry* share a port"])
    def test_the_same_for_two(self, text: str) -> None:
        assert read(text).asks_same

    def test_a_misspelt_topic_is_masked_too(self) -> None:
        question = read_question("how many bridges has the capitol of Norlnad more than 3", ["Norland"])
        assert "Norland" in question.parse.topics
        assert question.masked().endswith("more than 3")

    @pytest.mark.parametrize(
        ("text", "unit"),
        [
            ("more than 600 square metres", "square metres"),
            ("faster than 90 miles per hour", "miles per hour"),
            ("more than 1000 light years away", "light years"),
            ("spent more than 90 days in space", "days"),
            ("more than 5 kilos", "kilos"),
            ("more than 5 people", ""),
        ],
    )
    def test_units_of_several_words(self, text: str, unit: str) -> None:
        grammar = read(text).parse
        start = next(at for at in range(len(grammar)) if grammar.words[at].isdigit()) + 1
        assert grammar.written(start, end_of_unit(grammar, start)) == unit

    @pytest.mark.parametrize(
        ("text", "asked"),
        [
            ("Is there a ship without a captain, and which one?", "Which ship without a captain?"),
            ("Are there any trails under 5 km? Which?", "Which trails under 5 km?"),
            ("Is there a nurse who works nights? Who is it?", "Which nurse who works nights?"),
            ("Any ships without a captain? Which ones?", "Which ships without a captain?"),
            ("Is there a ship without a captain?", "Is there a ship without a captain?"),
            ("I'm looking for ships without a captain. Which ones are there?", "Which ships without a captain?"),
            ("I am looking for the ship without a captain.", "I am looking for the ship without a captain."),
            ("Out of all the ships, which one is the oldest?", "Which of the ships is the oldest?"),
            ("of our ships, who carries most?", "Which of our ships carries most?"),
            ("Of the ships in Riga, how many sail?", "How many of the ships in Riga sail?"),
            ("Of which ship is Ann the captain?", "Of which ship is Ann the captain?"),
            ("Which ship has no captain?", "Which ship has no captain?"),
        ],
    )
    def test_what_there_is_and_then_which_of_it(self, text: str, asked: str) -> None:
        assert asking_for_things(text) == asked

    @pytest.mark.parametrize(
        ("text", "asked"),
        [
            ("Could you please tell me who sails the Heron?", "Who sails the Heron?"),
            ("I'd like to know in which port she lies.", "In which port she lies."),
            ("I would like to know the length of the Heron.", "What is the length of the Heron."),
            ("please give me a list of all the ships, please", "List all the ships"),
            ("Would you kindly give me the names of ships in Riga?", "List all ships in Riga?"),
            ("Show me everybody who sails", "Who sails"),
            ("Show me the ships in Riga", "Show me the ships in Riga"),
            ("Could you tell me if the Heron sails?", "Could you tell me if the Heron sails?"),
            ("Which ship is the oldest, i.e. the one built first?", "Which ship is the oldest?"),
            ("Which ships were sailed for the first time in 1990?", "Which ships were first sailed in 1990?"),
            ("Which trips take half an hour?", "Which trips take 0.5 hour?"),
            ("Which trips are longer than a mile?", "Which trips are longer than 1 mile?"),
            ("Which trips are longer than a poem?", "Which trips are longer than a poem?"),
            ("Who wrote half a song?", "Who wrote half a song?"),
            (
                "Which ships won a race for the first time in 1990?",
                "Which ships won a race for the first time in 1990?",
            ),
            ("Which ships are new, i.e. built after 2020?", "Which ships are new, i.e. built after 2020?"),
            ("Which ships are from Cork, IE and sail?", "Which ships are from Cork, IE and sail?"),
            ("Tell Me Why was written by whom?", "Tell Me Why was written by whom?"),
            ("Can you tell me Anna's height?", "What is Anna's height?"),
        ],
    )
    def test_courtesy_and_what_is_said_again(self, text: str, asked: str) -> None:
        assert asking_for_things(text) == asked


@pytest.mark.parametrize(
    ("text", "months"),
    [
        ("Which trips were held in May?", [5]),
        ("Which trips took place in a December?", [12]),
        ("Which trips were held in early May?", []),
        ("Which trips were held in May 2019?", [0]),
        ("Which trips may be held in Riga?", []),
    ],
)
def test_a_month_may_be_of_any_year(text: str, months: list[int]) -> None:
    assert [time.month for time in read_question(text, ()).times] == months
