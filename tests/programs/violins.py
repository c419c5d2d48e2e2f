"""A small graph of violins, makers and towns, with prices and dates. One violin has no price, one maker no violin."""

VIOLINS = """
:violin rdfs:label "violin" . :maker rdfs:label "maker" . :town rdfs:label "town" .
:aurora a :violin ; rdfs:label "Aurora" ; :madeBy :lena ; :price 900 ; :built "1921-04-02"^^xsd:date ; :label "roth 7" .
:borea a :violin ; rdfs:label "Borea" ; :madeBy :lena ; :price 1200 ; :built "1930-10-11"^^xsd:date .
:cirrus a :violin ; rdfs:label "Cirrus" ; :madeBy :otto ; :price 1200 ; :built "1955-01-30"^^xsd:date .
:dune a :violin ; rdfs:label "Dune" ; :madeBy :otto ; :built "1960-06-01"^^xsd:date .
:aurora :inventory 3 . :borea :inventory 8 . :cirrus :inventory 5 . :dune :inventory 11 .
:lena a :maker ; rdfs:label "Lena Roth" ; :bornIn :mill ; :active 1919 .
:otto a :maker ; rdfs:label "Otto Krag" ; :bornIn :sund ; :active 1951 .
:ida a :maker ; rdfs:label "Ida Vale" ; :bornIn :mill .
:mill a :town ; rdfs:label "Millby" . :sund a :town ; rdfs:label "Sundal" .
:madeBy rdfs:label "made by" ; skos:altLabel "workshop of" . :bornIn rdfs:label "born in" . :price rdfs:label "price" .
:built rdfs:label "built" . :active rdfs:label "active from" . :label rdfs:label "inscription" .
:inventory rdfs:label "inventory number" .
"""
