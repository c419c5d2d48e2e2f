"""Small files in the formats in which data sets are published, with invented facts, and what they say."""

from __future__ import annotations

import bz2
import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WEBQSP = {
    "Version": "1.0",
    "Questions": [
        {
            "QuestionId": "WebQTest-0",
            "RawQuestion": "who rules tarvos?",
            "Parses": [
                {
                    "TopicEntityMid": "m.0aa",
                    "TopicEntityName": "Tarvos",
                    "InferentialChain": ["place.rulers", "rule.person"],
                    "Answers": [
                        {"AnswerType": "Entity", "AnswerArgument": "m.0bb", "EntityName": "Ilse Ødegård"},
                        {"AnswerType": "Entity", "AnswerArgument": "m.0cc", "EntityName": "Bo Lind"},
                    ],
                },
                {
                    "TopicEntityMid": "m.0aa",
                    "TopicEntityName": "Tarvos",
                    "InferentialChain": ["place.mayor"],
                    "Answers": [{"AnswerType": "Entity", "AnswerArgument": "m.0cc", "EntityName": "Bo Lind"}],
                },
            ],
        },
        {
            "QuestionId": "WebQTest-1",
            "RawQuestion": "when was tarvos founded?",
            "Parses": [
                {
                    "TopicEntityMid": "m.0aa",
                    "TopicEntityName": "Tarvos",
                    "InferentialChain": None,
                    "Answers": [{"AnswerType": "Value", "AnswerArgument": "1741", "EntityName": None}],
                }
            ],
        },
        {"QuestionId": "WebQTest-2", "RawQuestion": "who sank tarvos?", "Parses": [{"Answers": []}]},
    ],
}
HOTPOT: list[dict[str, Any]] = [
    {
        "_id": "h0",
        "question": "Which river runs by the town where Ana Vey was born?",
        "answer": "Brisa",
        "type": "bridge",
        "level": "hard",
        "supporting_facts": [["Ana Vey", 0], ["Tarvos", 2], ["Ana Vey", 1]],
        "context": [["Ana Vey", ["..."]]],
    },
    {"_id": "h1", "question": "Is Tarvos larger than Melk?", "answer": "no", "type": "comparison"},
    {"_id": "h2", "question": "Where is this?"},
]
TWO_WIKI = [
    {
        "_id": "w0",
        "type": "compositional",
        "question": "Who is the mother of the director of Nightfall?",
        "answer": "Ana Vey",
        "answer_id": "Q1",
        "supporting_facts": [["Nightfall", 0]],
        "evidences": [["Nightfall", "director", "Bo Vey"], ["Bo Vey", "mother", "Ana Vey"]],
        "context": [],
    },
    {"_id": "w1", "type": "comparison", "question": "Are both films Danish?", "answer": "yes", "evidences": []},
]
CWQ = [
    {
        "ID": "c0",
        "webqsp_ID": "WebQTrn-7",
        "question": "Which ruler of Tarvos was born in Melk?",
        "sparql": "SELECT ?x WHERE { ns:m.0aa ns:place.rulers ?x . ?x ns:person.born ns:m.0dd }",
        "compositionality_type": "conjunction",
        "answers": [
            {"answer": "Ilse Ødegård", "answer_id": "m.0bb", "aliases": ["I. Ødegård", "Ilse Ødegård"]},
            {"answer": None, "answer_id": "m.0ee", "aliases": []},
        ],
    },
    {"ID": "c1", "question": "Who else?", "sparql": "", "compositionality_type": "composition", "answers": []},
    {"ID": "c2", "question": "And hidden?"},
]
GRAIL = [
    {
        "qid": 31,
        "question": "how many rivers cross tarvos?",
        "answer": [{"answer_type": "Value", "answer_argument": "3"}],
        "function": "count",
        "num_node": 2,
        "num_edge": 1,
        "level": "zero-shot",
        "graph_query": {
            "nodes": [
                {"nid": 0, "node_type": "class", "id": "geo.river", "friendly_name": "River"},
                {"nid": 1, "node_type": "entity", "id": "m.0aa", "friendly_name": "Tarvos"},
            ],
            "edges": [{"start": 0, "end": 1, "relation": "geo.river.crosses", "friendly_name": "crosses"}],
        },
    },
    {
        "qid": 32,
        "question": "who rules?",
        "answer": [{"answer_type": "Entity", "answer_argument": "m.0bb", "entity_name": "Ilse"}],
        "function": "none",
        "num_edge": 2,
        "level": "i.i.d.",
    },
    {"qid": 33, "question": "hidden?"},
]
WEB_QUESTIONS = [
    {
        "url": "http://www.freebase.com/view/en/ana_vey",
        "targetValue": '(list (description "Brisa \\"Bri\\" Vey") (description Tarvos) (description "Ærø (old)"))',
        "utterance": "what did ana vey see?",
    }
]
CRAG = [
    {
        "interaction_id": "k0",
        "query": "who founded tarvos press?",
        "answer": "Ana Vey",
        "alt_ans": ["A. Vey", "Ana Vey"],
        "question_type": "simple",
        "popularity": "tail",
        "split": 1,
        "search_results": [{"page_result": "<html>"}],
    },
    {
        "interaction_id": "k1",
        "query": "when did tarvos win the moon cup?",
        "answer": "invalid question",
        "alt_ans": [],
        "question_type": "false_premise",
        "popularity": "",
        "split": 1,
    },
    {"interaction_id": "k2", "query": "is it?", "answer": "yes", "alt_ans": [], "question_type": "simple", "split": 0},
]
HEAD_TO_TAIL = {
    "head": [["tt01", "imdb-title-1", "In which year was Nightfall released?", 1999]],
    "torso": [["tt02", "imdb-title-4", "Who directed Dawn?", ["Bo Vey", "Ana Vey"]]],
    "tail": [[["<http://x/A>", "<http://x/r>", "<http://x/B>"], "<http://x/r>", "What is the r of A?", "B"]],
}
POPQA_COLUMNS = "id subj prop obj s_uri o_uri s_wiki_title s_pop o_pop question possible_answers o_aliases".split()
POPQA = [
    [
        *("7", "Ana Vey", "occupation", "journalist"),
        *("http://www.wikidata.org/entity/Q1", "http://www.wikidata.org/entity/Q2"),
        *("Ana Vey", "236", "9000", "What is Ana Vey's occupation?", '["journalist", "journo"]', '["reporter"]'),
    ],
    ["8", 'Bo "Bö" Vey', "sport", "chess", "", "", "", "0", "", "What sport?", '["chess"]', "[]"],
]
STARK = [["4", 'Papers on "tides"\nby Vey?', "[11, 12]"], ["5", "Dropped", "[1]"], ["6", "Theses?", "[13]"]]


def popqa_table() -> str:
    return _table(POPQA_COLUMNS, POPQA, "\t")


def _table(columns: list[str], rows: list[list[str]], delimiter: str) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows([columns, *rows])
    return out.getvalue()


def _write(folder: Path, name: str, content: Any) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".bz2"):
        path.write_bytes(bz2.compress("".join(json.dumps(row) + "\n" for row in content).encode()))
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), "utf-8")


@dataclass(frozen=True)
class Official:
    """A data set's split as files."""

    name: str
    split: str
    files: dict[str, Any]
    count: int
    make: Callable[..., None] = field(default=_write)

    def write(self, folder: Path) -> Path:
        for name, content in self.files.items():
            self.make(folder, name, content)
        return folder


OFFICIAL = (
    Official("hotpotqa", "dev", {"hotpot_dev_distractor_v1.json": HOTPOT}, 3),
    Official(
        "2wikimultihopqa",
        "dev",
        {"data/dev.json": TWO_WIKI, "data/id_aliases.json": '{"Q_id": "Q1", "aliases": ["A. Vey"], "demonyms": []}\n'},
        2,
    ),
    Official("popqa", "test", {"popQA.tsv": popqa_table()}, 2),
    Official("webqsp", "test", {"WebQSP/data/WebQSP.test.json": WEBQSP}, 3),
    Official("cwq", "test", {"ComplexWebQuestions_test_wans.json": CWQ}, 3),
    Official("grailqa", "dev", {"GrailQA_v1.0/grailqa_v1.0_dev.json": GRAIL}, 3),
    Official("webquestions", "test", {"webquestions.examples.test.json": WEB_QUESTIONS}, 1),
    Official(
        "stark-mag",
        "val",
        {
            "qa/mag/stark_qa/stark_qa.csv": _table(["id", "query", "answer_ids"], STARK, ","),
            "qa/mag/split/val.index": "4\n6\n",
        },
        2,
    ),
    Official("crag", "test", {"crag_task_1_and_2_dev_v4.jsonl.bz2": CRAG}, 2),
    Official("head-to-tail", "imdb", {"head_to_tail_imdb.json": HEAD_TO_TAIL}, 3),
    Official(
        "metaqa",
        "dev",
        {
            "1-hop/vanilla/qa_dev.txt": "what did [Ana Vey] direct\tDawn|Ebb\nwho made [Dawn]\tAna Vey\n",
            "1-hop/qa_dev_qtype.txt": "director_to_movie\nmovie_to_director\n",
            "2-hop/vanilla/qa_dev.txt": "who acts with [Émile Öst]\tBo\n",
            "3-hop/vanilla/qa_dev.txt": "which years [X (2)]\t1999\n",
        },
        4,
    ),
    Official(
        "pathquestion",
        "pq",
        {
            "PQ-2H.txt": " who is the son of a_b 's wife ?\tc(d/c/)\ta_b#spouse#e#children#c#<end>#c\n",
            "PQ-3H.txt": "band ?\tAC/DC_(band)(AC/DC_(band)/)\tx#r#y#s#z#t#AC/DC_(band)\n",
        },
        2,
    ),
)
