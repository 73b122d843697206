S She like to reading book on the train .
A 1 2|||R:VERB:SVA|||likes|||REQUIRED|||-NONE-|||0
A 3 4|||R:VERB:FORM|||read|||REQUIRED|||-NONE-|||0
A 4 5|||R:NOUN:NUM|||books|||REQUIRED|||-NONE-|||0

S He has went home yesterday .
A 1 3|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||0

