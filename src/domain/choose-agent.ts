import { createHash } from 'node:crypto'
import { basename, isAbsolute, resolve } from 'node:path'
import { AppError } from '../base/errors.ts'
import { splitWords } from '../base/words.ts'
import type { AgentChoice } from './agent-choice.ts'
import { AGENT_KINDS, type AgentKind } from './agent-manifest.ts'

/** What somebody said about the agent: a kind, the name of a custom agent, or a command line. */
export interface AgentSelection extends AgentMention {
  /** Agents of the person's own, by name. */
  custom: CustomAgents
}

export type CustomAgents = Readonly<Record<string, { command: string }>>

/** Programs by which a command line names one of the kinds that are known. */
export const PROGRAMS: Record<AgentKind, string> = {
  claude: 'claude',
  'claude-acp': 'claude-agent-acp',
  gemini: 'gemini',
  codex: 'codex',
  opencode: 'opencode',
}

/** Words that put an agent into the way we speak to it: given anyway, so that saying them changes nothing. */
const PROTOCOL_WORDS: Record<AgentKind, readonly string[]> = {
  claude: [],
  'claude-acp': [],
  gemini: ['--acp', '--experimental-acp'],
  codex: ['app-server'],
  opencode: ['acp'],
}

/**
 * The words that a kind may be given, with a value or without. A list of what is forbidden would never be whole: programs spell one flag in
 * many ways. Whoever wants another word has an agent that is only observed: a custom one.
 */
const ALLOWED_FLAGS: Record<AgentKind, Readonly<Record<string, 'value' | 'alone'>>> = {
  claude: {},
  'claude-acp': {},
  gemini: { '-m': 'value', '--model': 'value' },
  codex: { '-m': 'value', '--model': 'value' },
  opencode: { '--print-logs': 'alone', '--log-level': 'value' },
}

/** Which agent a text means. Nothing is expanded and no shell is asked; what cannot be understood is refused with its place. */
export function chooseAgent({ text, origin, custom, directory }: AgentSelection): AgentChoice {
  const name = text.trim()
  if (isKind(name)) return { kind: name, name }
  const own = Object.hasOwn(custom, name) ? custom[name] : undefined
  if (own) {
    const words = commandWords({ text: own.command, origin: `agents.custom.${name}, named by ${origin}` })
    return { kind: 'custom', name, command: words }
  }
  const words = commandWords({ text, origin, directory })
  const kind = AGENT_KINDS.find(each => PROGRAMS[each] === basename(words[0]))
  if (kind) return knownAgent(kind, words, { text, origin })
  if (words.length === 1 && !words[0].includes('/')) throw new AppError('agent_unknown', { agent: name, origin })
  return { kind: 'custom', name: adhocName(words), command: words }
}

/**
 * Whether an agent has its name from a list of ours or of the person's own, so that the name says what is run. Any other has a name that
 * was made from its command line, which nobody has agreed to.
 */
export function isKnownByName({ kind, name, command }: AgentChoice, custom: CustomAgents): boolean {
  if (kind !== 'custom') return true
  const own = Object.hasOwn(custom, name) ? custom[name] : undefined
  if (!own) return false
  const split = splitWords(own.command)
  return 'words' in split && JSON.stringify(split.words) === JSON.stringify(command)
}

/** The command of a kind: what is given anyway is left out, what could loosen it is refused. */
function knownAgent(kind: AgentKind, [program, ...rest]: [string, ...string[]], said: AgentMention): AgentChoice {
  if (program.includes('/'))
    throw malformed(said, `${program} is a path, and only the ${kind} of your PATH is known; ${OTHER_PROGRAM[kind]}`)
  const words = rest.filter(word => !PROTOCOL_WORDS[kind].includes(word))
  if (kind === 'claude' && words[0] !== undefined)
    throw malformed(said, `claude is driven through its library and takes no words of its own, as ${words[0]}`)
  refuseOthers(kind, words, said)
  return { kind, name: kind, ...(words.length > 0 && { command: [program, ...words] }) }
}

const CUSTOM = 'another program stands in [agents.custom.<name>], and is only observed'
const OTHER_PROGRAM: Record<AgentKind, string> = {
  claude: 'another claude is named by agents.path',
  'claude-acp': CUSTOM,
  gemini: CUSTOM,
  codex: CUSTOM,
  opencode: CUSTOM,
}

function refuseOthers(kind: AgentKind, words: readonly string[], said: AgentMention): void {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    const [flag = '', inline] = word.startsWith('--') ? splitFlag(word) : [word]
    const takes = Object.hasOwn(ALLOWED_FLAGS[kind], flag) ? ALLOWED_FLAGS[kind][flag] : undefined
    const value = takes === 'value' ? (inline ?? words[++at]) : undefined
    const isGiven = takes === 'value' ? value !== undefined && !value.startsWith('-') : takes && inline === undefined
    if (isGiven) continue
    const given = Object.keys(ALLOWED_FLAGS[kind]).join(', ') || 'none'
    throw malformed(said, `${word} could take away what holds ${kind}; of words it is given ${given}`)
  }
}

function splitFlag(word: string): [string, string?] {
  const at = word.indexOf('=')
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)]
}

function isKind(name: string): name is AgentKind {
  return (AGENT_KINDS as readonly string[]).includes(name)
}

/** A command line that somebody said. */
interface AgentMention {
  text: string
  /** `--agent`, a variable, or a file with its line. */
  origin: string
  /** Where a relative path begins. */
  directory?: string | undefined
}

/**
 * The words of a command line, its program first. Whatever they name by a path is named by a whole one: a relative path would lead into
 * whichever worktree the agent works in, where an agent may have written it. What is looked for there in another way is refused.
 */
function commandWords(said: AgentMention): [string, ...string[]] {
  const split = splitWords(said.text)
  if ('problem' in split) throw malformed(said, split.problem)
  const [program = '', ...rest] = split.words
  if (program === '') throw malformed(said, 'it names no program')
  if (/^[A-Za-z_]\w*=/.test(program))
    throw malformed(said, `${program.split('=')[0]} is set before the program, and variables travel by agents.env`)
  const problem = foundAnywhere(basename(program), rest)
  if (problem !== undefined) throw malformed(said, problem)
  const isScript = (at: number, word: string) => at === 0 && INTERPRETER.test(basename(program)) && !/^[-@]/.test(word)
  return [
    whole(program, program.includes('/'), said),
    ...rest.map((word, at) => whole(word, isScript(at, word) || isFile(word), said)),
  ]
}

/** A word that an interpreter takes for a file: by its slash or by its ending. Packages (`@scope/name`) and addresses are none. */
function isFile(word: string): boolean {
  if (/^[-@]|:\/\//.test(word)) return false
  return word.includes('/') || /\.([cm]?[jt]sx?|py|rb|pl|php|lua|sh|bash|jar|wasm)$/i.test(word)
}

/** Whether a program is an interpreter of Python. */
function isPython(program: string): boolean {
  return /^(python|pypy)[\d.]*$/.test(program)
}

/** The error of a command line that is not understood. */
export function malformed({ text: agent, origin }: AgentMention, problem: string): AppError<'agent_malformed'> {
  return new AppError('agent_malformed', { agent, origin, problem })
}

/** The first word behind one of these is a file, whatever its name. */
const INTERPRETER = /^(node|tsx|ruby|perl|php|lua|bash|dash|sh|zsh|(python|pypy)[\d.]*)$/

/** What the program would look for in the directory in which it is started. */
function foundAnywhere(program: string, words: readonly string[]): string | undefined {
  if (isPython(program)) return pythonProblem(program, words)
  return program === 'node' ? nodeProblem(words) : undefined
}

/** A module that it loads before the script; what stands behind the script is the script's own. */
function nodeProblem(words: readonly string[]): string | undefined {
  const script = words[0]?.startsWith('-') ? words.findIndex(isFile) : 0
  const own = script < 0 ? words : words.slice(0, script)
  const loads = own.findIndex(word => /^(-r|--require|--import|--loader|--experimental-loader)(=|$)/.test(word))
  if (loads < 0) return undefined
  const [flag = '', inline] = (words[loads] ?? '').split(/=(.*)/s)
  const name = inline ?? words[loads + 1] ?? ''
  if (/^(\.|\/|\w+:)/.test(name)) return undefined
  return `node looks for ${name || 'what it loads'} (${flag}) in the folder that the agent works in, where an agent may have put it; name it by its whole path`
}

/** With `-m` and `-c` the directory in which it is started comes first, unless `-P` or `-I` stands before. */
function pythonProblem(program: string, words: readonly string[]): string | undefined {
  let isSafe = false
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (!word.startsWith('-')) return undefined
    const letters = word.startsWith('--') ? '' : word.slice(1)
    const last = /[cmWX]/.exec(letters)
    isSafe ||= /[IP]/.test(letters.slice(0, last?.index))
    if (last?.[0] === 'm' || last?.[0] === 'c') return isSafe ? undefined : unsafePython(program, last[0])
    // A value that is not written to its option is the next word.
    if (last && last.index === letters.length - 1) at++
  }
  return undefined
}

function unsafePython(program: string, flag: string): string {
  return `${program} -${flag} takes modules from the folder that the agent works in first, where an agent may have put them; write ${program} -P -${flag} (Python 3.11 and later), or name the program that the package installs`
}

function whole(word: string, isPath: boolean, said: AgentMention): string {
  if (/^-[^=]*=\.{0,2}[^/]*\//.test(word) && !/=\/|:\/\//.test(word))
    throw malformed(said, `the path in ${word} is not a whole one`)
  if (!isPath || isAbsolute(word)) return word
  if (said.directory === undefined) throw malformed(said, `the path ${word} is not a whole one`)
  return resolve(said.directory, word)
}

/**
 * What an agent is called that only a command line names: its program and what that runs, and a mark of the whole line, so that no two are
 * called the same, nor one like an agent of the settings. Other words of the line are left out: one of them may be a secret.
 */
function adhocName([program = '', ...words]: readonly string[]): string {
  const mark = createHash('sha256')
    .update(JSON.stringify([program, ...words]))
    .digest('hex')
    .slice(0, 6)
  const runs = whatItRuns(basename(program), words)
  return `${[basename(program), ...(runs === undefined ? [] : [runs])].join(' ').slice(0, 60)} (${mark})`
}

function whatItRuns(program: string, words: readonly string[]): string | undefined {
  const module = isPython(program) ? words.indexOf('-m') : -1
  if (module >= 0) return words.slice(module, module + 2).join(' ')
  const file = words.find(word => isFile(word) && !word.includes('='))
  if (file !== undefined) return basename(file)
  const [first = ''] = words
  return words.find(word => /^@[\w.-]+\/[\w.@-]+$/.test(word)) ?? (/^[a-z][\w-]*$/.test(first) ? first : undefined)
}
