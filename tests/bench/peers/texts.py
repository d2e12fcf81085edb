"""A thousand statements about forty people, and questions that each ask for one of them."""

from dataclasses import dataclass

PEOPLE = [
    "Ada",
    "Bela",
    "Ciro",
    "Dana",
    "Egon",
    "Fatma",
    "Goran",
    "Hanna",
    "Imre",
    "Jana",
    "Kofi",
    "Lena",
    "Milo",
    "Nora",
    "Otto",
    "Petra",
    "Quinn",
    "Rosa",
    "Sami",
    "Tara",
    "Umar",
    "Vera",
    "Wanda",
    "Xenia",
    "Yusuf",
    "Zoe",
    "Anton",
    "Birgit",
    "Cesar",
    "Doris",
    "Emil",
    "Frida",
    "Gustav",
    "Helga",
    "Ivan",
    "Judit",
    "Karim",
    "Luise",
    "Marek",
    "Nadia",
]
_CITIES = ["Lisbon", "Oslo", "Krakow", "Turin", "Leeds", "Ghent", "Porto", "Malmo", "Graz", "Split"]
_COLOURS = ["blue", "red", "green", "yellow", "grey", "white", "black", "purple", "orange", "brown"]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
_MATTERS = (
    ("{name} keeps a spare key under the {colour} flowerpot.", "Where does {name} keep the spare key?"),
    ("{name} takes the night train to {city} every month.", "Which train does {name} take each month?"),
    ("{name} is allergic to walnuts and carries a {colour} pen for it.", "What is {name} allergic to?"),
    ("{name} has the team meeting every {day} at nine.", "When does the team of {name} meet?"),
    ("{name} drives a {colour} van with a dent in the left door.", "What does {name} drive?"),
    ("{name} studied chemistry in {city} before changing to law.", "What did {name} study at first?"),
    ("{name} plays the cello in an orchestra in {city}.", "Which instrument does {name} play?"),
    ("{name} waters the plants of the neighbours on {day}.", "When does {name} water the plants?"),
    ("{name} prefers invoices by post in a {colour} envelope.", "How does {name} want to get invoices?"),
    ("{name} is learning Portuguese with a teacher from {city}.", "Which language is {name} learning?"),
    ("{name} cannot work on {day} afternoons because of the children.", "When can {name} not work?"),
    ("{name} lost a {colour} suitcase at the airport of {city}.", "What did {name} lose at the airport?"),
    ("{name} has a sister who runs a bakery in {city}.", "What does the sister of {name} do?"),
    ("{name} signs contracts only with a {colour} fountain pen.", "What does {name} sign contracts with?"),
    ("{name} goes swimming before work on {day}.", "When does {name} go swimming?"),
    ("{name} owns two cats, one of them {colour}.", "Which pets does {name} have?"),
    ("{name} broke a leg while skiing near {city}.", "What happened to {name} while skiing?"),
    ("{name} is a vegetarian but eats fish on {day}.", "What does {name} eat?"),
    ("{name} reads the newspaper of {city} for the crossword.", "Why does {name} read the newspaper?"),
    ("{name} painted the kitchen {colour} last spring.", "In which colour is the kitchen of {name}?"),
    ("{name} was born in {city} and grew up on a farm.", "Where was {name} born?"),
    ("{name} gives the weekly report to Farid on {day}.", "Who gets the weekly report from {name}?"),
    ("{name} collects {colour} postage stamps from islands.", "What does {name} collect?"),
    ("{name} wants to move to {city} after retirement.", "Where does {name} want to move one day?"),
    ("{name} is on call for the database on {day} nights.", "When is {name} on call?"),
)


@dataclass(frozen=True)
class Question:
    """What is asked, and the statement that answers it."""

    text: str
    answer: str


def statements() -> list[str]:
    """A thousand, all different."""
    return [_fill(matter, person) for matter in range(len(_MATTERS)) for person in range(len(PEOPLE))]


def questions() -> list[Question]:
    """One for each statement."""
    return [
        Question(_MATTERS[matter][1].format(name=PEOPLE[person]), _fill(matter, person))
        for matter in range(len(_MATTERS))
        for person in range(len(PEOPLE))
    ]


def _fill(matter: int, person: int) -> str:
    return _MATTERS[matter][0].format(
        name=PEOPLE[person],
        city=_CITIES[(person + matter) % len(_CITIES)],
        colour=_COLOURS[(person * 3 + matter) % len(_COLOURS)],
        day=_DAYS[(person + matter) % len(_DAYS)],
    )
