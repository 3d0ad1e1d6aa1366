import type { Word } from '../../shell/tree.ts'
import { type Arg, HOLE } from './arg.ts'
import { expandBraces } from './braces.ts'
import { printedBy } from './printed.ts'
import type { Scope } from './scope.ts'
import { isSecretVariable } from './secret-variables.ts'

/** A word as the program will see it: none, one or several arguments. What cannot be known is a hole. */
export function expandWord(word: Word, scope: Scope): Arg[] {
  const [only, second] = word.bits
  // The common case first: plain text needs none of what follows.
  if (only?.is === 'text' && second === undefined && !(only.value.startsWith('~') && !only.quoted))
    return [{ value: only.value, text: word.text, at: word.at, known: true, glob: false, substituted: false }]
  return new Expansion(word, scope).run()
}

/** A whole list of words. */
export function expandWords(words: readonly Word[], scope: Scope): Arg[] {
  return words.flatMap(word => expandWord(word, scope))
}

/** More alternatives than this are not looked at one by one. */
const MAX_ALTERNATIVES = 64

class Expansion {
  readonly #word: Word
  readonly #scope: Scope
  /** Every alternative that braces make, each as the fields that splitting makes. */
  #fields: string[][] = [[]]
  #open = false
  #glob = false
  #substituted = false
  #secret: string | undefined

  constructor(word: Word, scope: Scope) {
    this.#word = word
    this.#scope = scope
  }

  run(): Arg[] {
    for (const [place, bit] of this.#word.bits.entries()) {
      switch (bit.is) {
        case 'text':
          this.#add(place === 0 && !bit.quoted ? this.#tilde(bit.value) : bit.value, bit.quoted)
          break
        case 'glob':
          this.#glob = true
          this.#add(bit.value, true)
          break
        case 'brace':
          this.#brace(bit.value)
          break
        case 'variable':
          this.#variable(bit)
          break
        case 'substitution':
          this.#substituted = true
          this.#add(printedBy(bit, this.#scope) ?? HOLE, true)
          break
        case 'arithmetic':
          this.#add(HOLE, true)
          break
      }
    }
    const { text, at } = this.#word
    return this.#fields.flat().map(value => ({
      value,
      text,
      at,
      known: !value.includes(HOLE),
      glob: this.#glob,
      substituted: this.#substituted,
      ...(this.#secret !== undefined && { secret: this.#secret }),
    }))
  }

  #add(value: string, quoted: boolean): undefined {
    if (value === '' && !quoted) return
    for (const fields of this.#fields) {
      if (this.#open && fields.length > 0) fields[fields.length - 1] += value
      else fields.push(value)
    }
    this.#open = true
  }

  #brace(value: string | undefined): undefined {
    const alternatives = value === undefined ? undefined : expandBraces(value)
    if (!alternatives || alternatives.length * this.#fields.length > MAX_ALTERNATIVES) return this.#add(HOLE, true)
    const before = this.#fields
    this.#fields = []
    for (const alternative of alternatives)
      for (const fields of before) {
        const copy = [...fields]
        if (this.#open && copy.length > 0) copy[copy.length - 1] += alternative
        else copy.push(alternative)
        this.#fields.push(copy)
      }
    this.#open = true
  }

  #variable(bit: { name: string; plain: boolean; quoted: boolean; indirect?: boolean }): undefined {
    const known = bit.plain ? this.#valueOf(bit.name) : undefined
    if (known === undefined) {
      if (bit.indirect) this.#secret = `what ${bit.name} names`
      else if (isSecretVariable(bit.name) || this.#scope.secrets.has(bit.name)) this.#secret = bit.name
      return this.#add(HOLE, true)
    }
    if (known.glob) this.#glob = true
    if (bit.quoted) return this.#add(known.value, true)
    // Unquoted, the shell splits it at blanks.
    const parts = known.value.split(/[ \t\n]+/)
    for (const [place, part] of parts.entries()) {
      if (place > 0) this.#open = false
      if (part !== '') this.#add(part, false)
    }
  }

  #valueOf(name: string): { value: string; glob: boolean } | undefined {
    const { values, unknown, tainted, home, cwd } = this.#scope
    if (tainted || unknown.has(name)) return undefined
    const set = values.get(name)
    if (set) return set
    if (name === 'HOME') return { value: home, glob: false }
    if (name === 'PWD' && cwd !== undefined) return { value: cwd, glob: false }
    return undefined
  }

  #tilde(value: string): string {
    if (value === '~' || value.startsWith('~/')) return this.#scope.home + value.slice(1)
    if (value.startsWith('~+')) return this.#scope.cwd === undefined ? HOLE : this.#scope.cwd + value.slice(2)
    return /^~[^/]*/.test(value) ? value.replace(/^~[^/]*/, HOLE) : value
  }
}
