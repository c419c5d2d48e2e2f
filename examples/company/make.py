"""Makes the five tables of an invented company, and thirty questions whose answers pandas computes from the tables.

    python examples/company/make.py FOLDER

The tables are as people have them: salaries with a currency and thousands signs, margins as percentages, several skills
in a cell, semicolons and decimal commas in one file, tabs in another, and empty cells.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
import random
import sys
from pathlib import Path
from typing import Any

import pandas as pd

TEAMS = {"Platform": "Oslo", "Billing": "Oslo", "Search": "Turin", "Mobile": "Lisbon", "Data": "Turin"}
TEAMS |= {"Support": "Lisbon", "Sales": "Graz", "Research": "Graz"}
FIRST = (
    "Ada Ben Chiara David Elif Farid Grace Henrik Ines Jon Kaia Luca Mia Nils Olga Pavel Quinn Rosa Sami Tara Uma Vera "
    "Wim Yara Zoe Arne Bianca Carl Dora Emil"
).split()
LAST = (
    "Novak Ortiz Rossi Kim Demir Aziz Lee Dahl Roy Berg Lund Conti Haas Moe Petrov Silva Weiss Costa Eklund Fabre "
    "Gallo Hansen Iversen Jansen Keller Lopez Meyer Nunes Olsen Pohl"
).split()
SKILLS = ["Python", "SQL", "Rust", "Go", "Design", "Statistics", "Negotiation", "Writing"]
PRODUCTS = (
    "Ledger Beacon Compass Harbor Lantern Meridian Nimbus Orchard Pinnacle Quarry Ripple Summit Tundra Umbra Vertex "
    "Willow Anvil Bastion Cinder Drift"
).split()
PLACES = {"Oslo": "Norway", "Bergen": "Norway", "Turin": "Italy", "Milan": "Italy", "Lisbon": "Portugal"}
PLACES |= {"Porto": "Portugal", "Graz": "Austria", "Berlin": "Germany", "Hamburg": "Germany", "Munich": "Germany"}
TRADES = ["Foods", "Shipping", "Optics", "Paper", "Textiles"]


def make(folder: Path) -> None:
    """Write the tables and the questions into a folder."""
    tables = _tables(random.Random(7))
    _write(folder / "teams.csv", tables["teams"], ",")
    _write(folder / "people.csv", tables["people"], ",")
    _write(folder / "products.csv", tables["products"], ";")
    _write(folder / "customers.tsv", tables["customers"], "\t")
    _write(folder / "orders.csv", tables["orders"], ",")
    with (folder / "questions.jsonl").open("w", encoding="utf-8") as out:
        for number, (kind, question, answers) in enumerate(questions(folder), 1):
            row = {"id": f"company-{number:02}", "question": question, "answers": answers, "kind": kind}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def _tables(chance: random.Random) -> dict[str, list[dict[str, Any]]]:
    def day(first: int, last: int) -> dt.date:
        start = dt.date(first, 1, 1)
        return start + dt.timedelta(chance.randrange((dt.date(last + 1, 1, 1) - start).days))

    names = [f"{first} {last}" for first, last in zip(FIRST, LAST, strict=True)]
    names += [f"{first} {last}" for first, last in zip(FIRST, LAST[7:] + LAST[:7], strict=True)]
    people, leads = [], dict(zip(TEAMS, names, strict=False))
    for at, name in enumerate(names):
        team = list(TEAMS)[at] if at < len(TEAMS) else chance.choice(list(TEAMS))
        people.append(
            {
                "name": name,
                "team": team,
                "manager": "" if at == 0 else names[0] if name == leads[team] else leads[team],
                "salary": f"€{chance.randrange(380, 990) * 100 + at:,}",
                "start date": day(2012, 2025).isoformat(),
                "skills": "; ".join(chance.sample(SKILLS, chance.randrange(0, 4))),
            }
        )
    teams = [
        {"team": team, "city": city, "lead": leads[team], "budget": f"€{chance.randrange(400, 2500) * 1000:,}"}
        for team, city in TEAMS.items()
    ]
    products = [
        {
            "product": name,
            "owner": chance.choice(list(TEAMS)[:6]),
            "price": f"{chance.randrange(20, 400)},{chance.choice(['00', '50', '90'])} €",
            "margin": f"{chance.randrange(80, 620) / 10:.1f}%".replace(".", ","),
            "launched": day(2015, 2024).strftime("%d.%m.%Y"),
        }
        for name in PRODUCTS
    ]
    customers = [
        {
            "customer_id": f"C{at + 1:03}",
            "name": f"{place} {trade}",
            "city": place,
            "country": country,
            "account manager": chance.choice([one["name"] for one in people if one["team"] == "Sales"]),
        }
        for at, ((place, country), trade) in enumerate((place, trade) for place in PLACES.items() for trade in TRADES)
    ]
    orders = [
        {
            "order_id": 10_001 + at,
            "date": date.isoformat(),
            "customer_id": chance.choice(customers)["customer_id"],
            "product": chance.choice(PRODUCTS),
            "quantity": chance.randrange(1, 60),
            "amount": f"€{chance.randrange(100, 9000):,}",
            "status": chance.choice(["paid", "paid", "paid", "open", "cancelled"]),
        }
        for at, date in enumerate(sorted(day(2023, 2025) for _ in range(300)))
    ]
    return {"teams": teams, "people": people, "products": products, "customers": customers, "orders": orders}


def _write(path: Path, rows: list[dict[str, Any]], delimiter: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


# --- questions -----------------------------------------------------------------------------------
def read(folder: Path) -> dict[str, pd.DataFrame]:
    """The tables as pandas reads them, with numbers and dates."""

    def number(column: pd.Series) -> pd.Series:
        return pd.to_numeric(column.str.replace("[€% ]", "", regex=True))

    people = pd.read_csv(folder / "people.csv", keep_default_na=False)
    people["salary"] = number(people["salary"].str.replace(",", ""))
    people["start date"] = pd.to_datetime(people["start date"])
    people["skills"] = people["skills"].map(lambda text: text.split("; ") if text else [])
    teams = pd.read_csv(folder / "teams.csv")
    teams["budget"] = number(teams["budget"].str.replace(",", ""))
    products = pd.read_csv(folder / "products.csv", sep=";")
    for name in ("price", "margin"):
        products[name] = number(products[name].str.replace(",", "."))
    products["launched"] = pd.to_datetime(products["launched"], format="%d.%m.%Y")
    customers = pd.read_csv(folder / "customers.tsv", sep="\t")
    orders = pd.read_csv(folder / "orders.csv")
    orders["amount"] = number(orders["amount"].str.replace(",", ""))
    orders["date"] = pd.to_datetime(orders["date"])
    return {"people": people, "teams": teams, "products": products, "customers": customers, "orders": orders}


def questions(folder: Path) -> list[tuple[str, str, list[str]]]:
    """(kind, question, answers) of thirty questions."""
    tables = read(folder)
    people, teams, products = tables["people"], tables["teams"], tables["products"]
    located = people.merge(teams, on="team")
    owned = products.merge(teams, left_on="owner", right_on="team")
    bought = tables["orders"].merge(tables["customers"], on="customer_id").merge(products, on="product")
    by_name = people.set_index("name")
    spent = bought.groupby("name")["amount"].sum()
    year = bought["date"].dt.year
    foods = bought[bought["name"] == "Bergen Foods"]

    def named(rows: pd.DataFrame, column: str = "name") -> list[str]:
        return sorted(rows[column])

    def one(value: Any) -> list[str]:
        return [
            str(value.date())
            if isinstance(value, pd.Timestamp)
            else f"{value:g}"
            if isinstance(value, float)
            else str(value)
        ]

    def euros(value: float) -> list[str]:
        return [f"€{value:.10g}"]

    def knows(*skills: str) -> pd.Series:
        return people["skills"].map(lambda known: set(skills) <= set(known))

    return [
        ("fact", "Who leads the Search team?", named(teams[teams["team"] == "Search"], "lead")),
        ("fact", "Which team is Kaia Lund in?", one(by_name.loc["Kaia Lund", "team"])),
        ("fact", "Who is the manager of Luca Conti?", one(by_name.loc["Luca Conti", "manager"])),
        ("fact", "What is the price of Lantern?", euros(products.set_index("product").loc["Lantern", "price"])),
        ("fact", "When was Meridian launched?", one(products.set_index("product").loc["Meridian", "launched"])),
        ("join", "In which city does Rosa Costa work?", named(located[located["name"] == "Rosa Costa"], "city")),
        ("join", "In which city is the team that owns Compass?", named(owned[owned["product"] == "Compass"], "city")),
        ("join", "Who leads the team that owns Beacon?", named(owned[owned["product"] == "Beacon"], "lead")),
        (
            "join",
            "Who is the account manager of Milan Optics?",
            sorted(set(bought[bought["name"] == "Milan Optics"]["account manager"])),
        ),
        ("join", "Which products has Bergen Foods ordered?", sorted(set(foods["product"]))),
        ("list", "Which people know Rust?", named(people[knows("Rust")])),
        (
            "list",
            "Which customers are in Norway?",
            named(tables["customers"][tables["customers"]["country"] == "Norway"]),
        ),
        ("list", "Which products have a margin above 50 percent?", named(products[products["margin"] > 50], "product")),
        ("count", "How many people are in the Platform team?", one((people["team"] == "Platform").sum())),
        ("count", "How many people know both Python and SQL?", one(knows("Python", "SQL").sum())),
        ("count", "How many people work in Turin?", one((located["city"] == "Turin").sum())),
        ("count", "How many products does the Billing team own?", one((products["owner"] == "Billing").sum())),
        ("count", "How many orders came from customers in Germany?", one((bought["country"] == "Germany").sum())),
        ("sum", "What is the total salary of the Data team?", euros(people[people["team"] == "Data"]["salary"].sum())),
        ("sum", "What is the total amount of the orders of Bergen Foods?", euros(foods["amount"].sum())),
        (
            "sum",
            "How many pieces of Ledger have been ordered?",
            one(bought[bought["product"] == "Ledger"]["quantity"].sum()),
        ),
        (
            "sum",
            "What is the total amount of paid orders in 2024?",
            euros(bought[(bought["status"] == "paid") & (year == 2024)]["amount"].sum()),
        ),
        ("most", "Which team has the largest budget?", one(teams.set_index("team")["budget"].idxmax())),
        (
            "most",
            "Who earns the most in the Mobile team?",
            one(by_name[by_name["team"] == "Mobile"]["salary"].idxmax()),
        ),
        ("most", "Which customer has spent the most?", one(spent.idxmax())),
        ("most", "Which is the most expensive product?", one(products.set_index("product")["price"].idxmax())),
        ("date", "Who joined the company first?", one(by_name["start date"].idxmin())),
        ("date", "How many people started in 2021?", one((people["start date"].dt.year == 2021).sum())),
        ("date", "When did Bergen Foods place its first order?", one(foods["date"].min())),
        ("date", "How many orders were placed after 1 October 2025?", one((bought["date"] > "2025-10-01").sum())),
    ]


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
