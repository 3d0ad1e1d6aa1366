/** What a flag does: nothing but shape what is printed, or more. */
export type FlagKind = 'harmless' | 'asks' | 'reads' | 'writes' | 'runs'

export interface FlagEntry {
  kind: FlagKind
  /** Words it takes after it; `attached` when a value counts only where it hangs on the flag. */
  takes: 0 | 1 | 2 | 'attached'
}

/**
 * The flags that a program has, by what they do, in a small notation: `-abc` are three letters; `-k:` and `--key:` take a value,
 * `--arg::` takes two, `-i?` and `--color?` take one only attached; `-W*` and `--no-*` are all that begin like this; `-#` is a
 * number (`head -20`).
 */
export interface FlagSpec extends Partial<Record<FlagKind, string>> {
  /** One dash is as good as two, and letters do not stand in clusters (`go test -run x`, `openssl dgst -sha256`). */
  words?: boolean
  /** A value may hang on any long flag, as most parsers of flags that are no getopt have it. */
  loose?: boolean
}

export interface FlagTable {
  letters: Map<string, FlagEntry>
  /** Without their dashes. */
  names: Map<string, FlagEntry>
  beginnings: [start: string, entry: FlagEntry][]
  numbers: boolean
  words: boolean
  loose: boolean
}

const KINDS: readonly FlagKind[] = ['harmless', 'asks', 'reads', 'writes', 'runs']

/** Reads the notation. What is worse is written over what is not. */
export function flagTable(spec: FlagSpec): FlagTable {
  const table: FlagTable = {
    letters: new Map(),
    names: new Map(),
    beginnings: [],
    numbers: false,
    words: spec.words === true,
    loose: spec.loose === true,
  }
  for (const name of ['help', 'version']) table.names.set(name, { kind: 'harmless', takes: 0 })
  for (const kind of KINDS)
    for (const token of (spec[kind] ?? '').split(/\s+/)) if (token !== '') enter(table, kind, token)
  return table
}

function enter(table: FlagTable, kind: FlagKind, token: string): void {
  if (token === '-#') {
    table.numbers = true
    return
  }
  const [, dashes = '', name = '', mark = ''] = /^(--?)(.+?)(::|[:?*]|)$/.exec(token) ?? []
  const takes = TAKES[mark]
  if (mark === '*') table.beginnings.push([`${dashes}${name}`, { kind, takes: 'attached' }])
  else if (dashes === '--' || (table.words && name.length > 1))
    table.names.set(name, { kind, takes: takes ?? (table.loose ? 'attached' : 0) })
  else for (const letter of name) table.letters.set(letter, { kind, takes: takes ?? 0 })
}

const TAKES: Record<string, FlagEntry['takes']> = { ':': 1, '::': 2, '?': 'attached' }
