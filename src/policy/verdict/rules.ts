import { type Assessment, highestRisk, type Piece } from '../../domain/assessment.ts'
import type { Request, Risk } from '../../domain/session.ts'
import { matchesWildcard } from '../paths/wildcard.ts'
import { parseShell } from '../shell/parse.ts'
import type { ShellNode } from '../shell/tree.ts'

/** A rule that a person wrote: an effect, and what it applies to. A tool without `match` means every call of that tool. */
export interface PolicyRule {
  effect: 'allow' | 'ask' | 'deny'
  /** `Bash`, `Write`, `mcp__x__*`. */
  tool: string
  /** For commands: words, with `*` at the end for more. For other tools: the path or address, with `*` for anything. */
  match?: string
  /** How the rule is shown, if not by its own fields. */
  shown?: string
}

/**
 * Finds the rule that decides: the last one that matches, but a deny is final. An allow counts for a HIGH request only if it
 * names that exact request, letter by letter: nothing wider may allow what is dangerous.
 */
export function findRule(tool: string, assessment: Assessment, rules: readonly PolicyRule[]): PolicyRule | undefined {
  const matching = rules.filter(rule => ruleMatches(rule, tool, assessment))
  return matching.findLast(rule => rule.effect === 'deny') ?? matching.at(-1)
}

/** A rule in words, for events and `pcc explain`. */
export function describeRule({ effect, tool, match, shown }: PolicyRule): string {
  return shown ?? `${effect} ${tool}${match === undefined ? '' : ` ${match}`}`
}

/** `Monitor` runs commands too, so rules for Bash apply to it. */
export function runsCommands(tool: string): boolean {
  return tool === 'Bash' || tool === 'Monitor'
}

function ruleMatches(rule: PolicyRule, calledTool: string, assessment: Assessment): boolean {
  const tool = runsCommands(calledTool) ? 'Bash' : calledTool
  if (!globMatches(rule.tool, calledTool) && !globMatches(rule.tool, tool)) return false
  const isAllow = rule.effect === 'allow'
  const { match } = rule
  const isExact = match !== undefined && assessment.normalised === (match === '' ? tool : `${tool} ${match}`)
  if (isAllow && isHigh(assessment)) return isExact && !match.includes('*')
  if (match === undefined || isExact) return true
  if (tool !== 'Bash') return globMatches(match, assessment.normalised.slice(tool.length + 1))
  const pattern = parsePattern(match)
  if (pattern === undefined) return assessment.normalised === `${tool} ${match}`
  return isAllow ? allMatch(pattern, assessment) : anyMatches(pattern, assessment)
}

function isHigh({ reasons }: Assessment): boolean {
  return highestRisk(reasons.map(reason => reason.risk)) === 'HIGH'
}

function globMatches(pattern: string, text: string): boolean {
  return matchesWildcard(pattern.replace(/[?[]/g, '[$&]'), text)
}

/** Commands joined by pipes, each as the list of its required words. */
export interface Pattern {
  text: string
  stages: string[][]
}

/** Parses a pattern as written in a config: `rm -rf /`, `git push *`, `curl | sh`. `undefined` if it is no command. */
export function parsePattern(text: string): Pattern | undefined {
  const { script, errors } = parseShell(text)
  const [only, second] = script.body
  if (errors.length > 0 || only === undefined || second !== undefined) return undefined
  const nodes = only.is === 'pipeline' ? only.parts : [only]
  const stages = nodes.map(readWords)
  return stages.every(stage => stage !== undefined && stage.length > 0)
    ? { text, stages: stages as string[][] }
    : undefined
}

function readWords(node: ShellNode): string[] | undefined {
  if (node.is !== 'command' || node.redirects.length > 0 || node.assigns.length > 0) return undefined
  return node.words.map(word =>
    word.bits.map(bit => (bit.is === 'text' || bit.is === 'glob' ? bit.value : '*')).join(''),
  )
}

/** Whether any command of a request matches the pattern: its program, all its flags, all its bare words. */
export function anyMatches(pattern: Pattern, assessment: Assessment): boolean {
  const [first] = pattern.stages
  if (first === undefined) return false
  const search = (piece: Piece): boolean =>
    (pattern.stages.length === 1
      ? piece.argv !== undefined && forbids(first, piece.argv)
      : pipeMatches(pattern, piece)) || piece.pieces.some(search)
  return assessment.pieces.some(search)
}

/** Whether the pattern allows every command of a request, word by word; `*` at the end allows more words. */
export function allMatch(pattern: Pattern, assessment: Assessment): boolean {
  const [first, second] = pattern.stages
  if (first === undefined || second !== undefined) return false
  let commands = 0
  const check = (piece: Piece): boolean => {
    if (piece.argv) commands++
    // A variable before the program is not one of its words, and may change what the program does.
    const bare = !piece.reasons.some(({ code }) => /^env\.(hijack|redirect|unlisted|odd|code-text)$/.test(code))
    const allowed = piece.argv !== undefined && bare && allows(first, piece.argv)
    if (piece.argv && !allowed) return false
    // A command that an allowed one runs from its own words is allowed with it; command substitutions in them are not.
    return piece.pieces.every(inner => (allowed && inner.derived) || check(inner))
  }
  return assessment.pieces.every(check) && commands > 0
}

/** Whether the stages occur in their order; others may come between them. */
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
/** What a shell in a pattern matches: anything that runs its standard input. */
const INTERPRETERS =
  /^((ba|z|da|k|mk|a|fi|c|tc|pw)?sh|python[\d.]*|node|perl|ruby|php|lua|deno|bun|osascript|tclsh|eval|source|\.)$/

function forbids(stage: readonly string[], argv: readonly string[]): boolean {
  const [name = '', ...words] = stage
  const program = baseName(argv[0] ?? '')
  const isSameProgram = SHELLS.test(name) && words.length === 0 ? INTERPRETERS.test(program) : matchWord(name, program)
  if (!isSameProgram) return false
  const rest = argv.slice(1)
  const flags = new Set(rest.filter(word => word.startsWith('-')).flatMap(splitFlag))
  return words.every(word =>
    word.startsWith('-')
      ? splitFlag(word).every(letter => flags.has(letter))
      : rest.some(other => matchWord(normaliseWord(word), normaliseWord(other))),
  )
}

function allows(stage: readonly string[], argv: readonly string[]): boolean {
  const isOpen = stage.at(-1) === '*'
  const words = isOpen ? stage.slice(0, -1) : stage
  if (isOpen ? argv.length < words.length : argv.length !== words.length) return false
  return argv.every(
    (word, index) => !word.includes('\0') && (words[index] === undefined ? isOpen : matchWord(words[index], word)),
  )
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** `-rf` is `-r` and `-f`; `--force` counts as `-f`, and `--recursive` and `-R` as `-r`. */
function splitFlag(flag: string): string[] {
  const long: Record<string, string> = { '--recursive': '-r', '--force': '-f', '-R': '-r' }
  if (flag.startsWith('--')) return [long[flag] ?? flag]
  return [...flag.slice(1)].map(letter => long[`-${letter}`] ?? `-${letter}`)
}

/** `/`, `/.` and `//` are the same path, and so are `x/` and `x`. */
function normaliseWord(word: string): string {
  if (/^\/[/.]*$/.test(word)) return '/'
  return word.length > 1 ? word.replace(/\/+$/, '') : word
}

function matchWord(pattern: string, word: string): boolean {
  return pattern.includes('*') ? matchesWildcard(pattern.replace(/[?[]/g, '[$&]'), word) : pattern === word
}

/**
 * `--allowed-tools`: what the person who started the session allows without a question, in Claude Code's own form.
 * `Bash(npm test)` is that exact command; `Bash(npm run:*)` is any command that begins with those words and has only plain words;
 * `WebFetch(domain:example.com)` is that host; a bare name is every call of that tool, unless it is HIGH. `Bash` alone is no rule,
 * because it would allow every command.
 *
 * Each entry that matches this request becomes a rule for exactly this request, so that it is one among the other rules and
 * their deny is final.
 */
export function rulesFromAllowedTools(
  allowed: readonly string[],
  { tool, input }: Pick<Request, 'tool' | 'input'>,
  { risk, normalised }: Assessment,
): PolicyRule[] {
  return allowed
    .filter(entry => entryMatches(readEntry(entry), { tool, input }, risk))
    .map(entry => ({
      effect: 'allow',
      tool,
      match: normalised.slice(tool.length + 1),
      shown: `--allowed-tools ${entry}`,
    }))
}

/** Entries that allow nothing, for a message to the person. */
export function findIdleRules(rules: readonly string[]): string[] {
  return rules.filter(rule => {
    const { tool, what } = readEntry(rule)
    if (tool === 'Bash') return what === undefined || what === '' || what === '*' || what === ':*'
    return what !== undefined && !(tool === 'WebFetch' && what.startsWith('domain:'))
  })
}

interface AllowedEntry {
  tool: string
  what: string | undefined
}

function readEntry(rule: string): AllowedEntry {
  const parts = /^([^(]+)\((.*)\)$/s.exec(rule.trim())
  return { tool: (parts?.[1] ?? rule).trim(), what: parts?.[2]?.trim() }
}

function entryMatches({ tool, what }: AllowedEntry, request: Pick<Request, 'tool' | 'input'>, risk: Risk): boolean {
  if (tool === 'Bash') return request.tool === 'Bash' && commandMatches(what, request.input['command'], risk)
  if (what === undefined) return risk !== 'HIGH' && (request.tool === tool || isToolOfServer(tool, request.tool))
  if (tool !== 'WebFetch' || request.tool !== tool || !what.startsWith('domain:')) return false
  return risk !== 'HIGH' && readHost(request.input['url']) === what.slice('domain:'.length).trim().toLowerCase()
}

function commandMatches(what: string | undefined, command: unknown, risk: Risk): boolean {
  if (!what || typeof command !== 'string') return false
  if (!what.endsWith(':*')) return command.trim() === what
  const words = what.slice(0, -2).trim()
  if (words === '' || risk === 'HIGH' || !PLAIN.test(command)) return false
  return command === words || command.startsWith(`${words} `)
}

/** Only characters that are plain text to a shell: one command, no substitution, no redirection. */
const PLAIN = /^[\w@%+:,./= -]+$/

/** `mcp__server` means all tools of that server. */
function isToolOfServer(rule: string, tool: string): boolean {
  return /^mcp__[^_]+(?:_[^_]+)*$/.test(rule) && tool.startsWith(`${rule}__`)
}

function readHost(url: unknown): string | undefined {
  const parsed = typeof url === 'string' ? URL.parse(url) : null
  return parsed?.hostname.toLowerCase()
}
