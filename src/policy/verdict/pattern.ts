import type { Assessment, Piece } from '../../domain/assessment.ts'
import { fitsPattern } from '../paths/wildcard.ts'
import { parseShell } from '../shell/parse.ts'
import type { Node } from '../shell/tree.ts'

/** Commands joined by pipes, each as the words that must be there. */
export interface Pattern {
  text: string
  stages: string[][]
}

/** Reads a pattern as it is written in a config: `rm -rf /`, `git push *`, `curl | sh`. `undefined` when it is no command. */
export function patternOf(text: string): Pattern | undefined {
  const { script, errors } = parseShell(text)
  const [only, second] = script.body
  if (errors.length > 0 || only === undefined || second !== undefined) return undefined
  const nodes = only.is === 'pipeline' ? only.parts : [only]
  const stages = nodes.map(wordsOf)
  return stages.every(stage => stage !== undefined && stage.length > 0)
    ? { text, stages: stages as string[][] }
    : undefined
}

function wordsOf(node: Node): string[] | undefined {
  if (node.is !== 'command' || node.redirects.length > 0 || node.assigns.length > 0) return undefined
  return node.words.map(word =>
    word.bits.map(bit => (bit.is === 'text' || bit.is === 'glob' ? bit.value : '*')).join(''),
  )
}

/** Whether any command of a request is one that the pattern forbids: its program, all its flags, all its bare words. */
export function anyMatches(pattern: Pattern, assessment: Assessment): boolean {
  const [first] = pattern.stages
  if (first === undefined) return false
  const search = (piece: Piece): boolean =>
    (pattern.stages.length === 1
      ? piece.argv !== undefined && forbids(first, piece.argv)
      : pipeMatches(pattern, piece)) || piece.pieces.some(search)
  return assessment.pieces.some(search)
}

/** Whether every command of a request is one that the pattern allows, word by word; `*` at the end allows more words. */
export function allMatch(pattern: Pattern, assessment: Assessment): boolean {
  const [first, second] = pattern.stages
  if (first === undefined || second !== undefined) return false
  let commands = 0
  const check = (piece: Piece): boolean => {
    if (piece.argv) commands++
    // A variable before the program is none of its words, and may make it another program.
    const bare = !piece.reasons.some(({ code }) => /^env\.(hijack|redirect|unlisted|odd|code-text)$/.test(code))
    const allowed = piece.argv !== undefined && bare && allows(first, piece.argv)
    if (piece.argv && !allowed) return false
    // What an allowed command runs out of its own words is allowed with it; what is substituted into them is not.
    return piece.pieces.every(inner => (allowed && inner.derived) || check(inner))
  }
  return assessment.pieces.every(check) && commands > 0
}

/** Stages in their order, others may stand between them. */
function pipeMatches({ stages }: Pattern, piece: Piece): boolean {
  if (!piece.piped) return false
  let next = 0
  for (const part of piece.pieces) {
    const stage = stages[next]
    if (stage !== undefined && commandsIn(part).some(argv => forbids(stage, argv))) next++
  }
  return next === stages.length
}

/** A stage may be wrapped or grouped: `curl … | sudo bash`, `curl … | (sh)`. */
function commandsIn(piece: Piece): (readonly string[])[] {
  return [...(piece.argv ? [piece.argv] : []), ...piece.pieces.flatMap(commandsIn)]
}

const SHELLS = /^(ba|z|da|k|mk|a|fi|c|tc)?sh$/
/** What a shell stands for in a pattern: anything that runs what it is fed. */
const INTERPRETERS =
  /^((ba|z|da|k|mk|a|fi|c|tc|pw)?sh|python[\d.]*|node|perl|ruby|php|lua|deno|bun|osascript|tclsh|eval|source|\.)$/

function forbids(stage: readonly string[], argv: readonly string[]): boolean {
  const [name = '', ...words] = stage
  const program = baseOf(argv[0] ?? '')
  const same = SHELLS.test(name) && words.length === 0 ? INTERPRETERS.test(program) : matchWord(name, program)
  if (!same) return false
  const rest = argv.slice(1)
  const flags = new Set(rest.filter(word => word.startsWith('-')).flatMap(lettersOf))
  return words.every(word =>
    word.startsWith('-')
      ? lettersOf(word).every(letter => flags.has(letter))
      : rest.some(other => matchWord(plain(word), plain(other))),
  )
}

function allows(stage: readonly string[], argv: readonly string[]): boolean {
  const open = stage.at(-1) === '*'
  const words = open ? stage.slice(0, -1) : stage
  if (open ? argv.length < words.length : argv.length !== words.length) return false
  return argv.every(
    (word, place) => !word.includes('\0') && (words[place] === undefined ? open : matchWord(words[place], word)),
  )
}

function baseOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** `-rf` is `-r` and `-f`, `--force` is `-f` where everybody has both. */
function lettersOf(flag: string): string[] {
  const long: Record<string, string> = { '--recursive': '-r', '--force': '-f', '-R': '-r' }
  if (flag.startsWith('--')) return [long[flag] ?? flag]
  return [...flag.slice(1)].map(letter => long[`-${letter}`] ?? `-${letter}`)
}

/** `/` and `/.` and `//` are one place, `x/` is `x`. */
function plain(word: string): string {
  if (/^\/[/.]*$/.test(word)) return '/'
  return word.length > 1 ? word.replace(/\/+$/, '') : word
}

function matchWord(pattern: string, word: string): boolean {
  return pattern.includes('*') ? fitsPattern(pattern.replace(/[?[]/g, '[$&]'), word) : pattern === word
}
