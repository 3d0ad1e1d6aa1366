import { createHash } from 'node:crypto'
import { basename, isAbsolute, resolve } from 'node:path'
import { AppError } from '../base/errors.ts'
import { splitWords } from '../base/words.ts'
import type { AgentChoice } from './agent-choice.ts'
import { AGENT_KINDS, AGENTS, type AgentKind, isAgentKind } from './agents/agent-registry.ts'

/** The requested agent: a kind, the name of a custom agent, or a command line. */
export interface AgentSelection extends AgentMention {
  /** The person's own agents, by name. */
  custom: CustomAgents
}

export type CustomAgents = Readonly<Record<string, { command: string }>>

/** Finds the agent that a text means. Nothing is expanded and no shell is called; a text that cannot be understood is refused with the position. */
export function chooseAgent({ text, origin, custom, directory }: AgentSelection): AgentChoice {
  const name = text.trim()
  if (isAgentKind(name)) return { kind: name, name }
  const own = Object.hasOwn(custom, name) ? custom[name] : undefined
  if (own) {
    const words = commandWords({ text: own.command, origin: `agents.custom.${name}, named by ${origin}` })
    return { kind: 'custom', name, command: words }
  }
  const words = commandWords({ text, origin, directory })
  const kind = AGENT_KINDS.find(candidate => AGENTS[candidate].start.command === basename(words[0]))
  if (kind) return chooseKnownAgent(kind, words, { text, origin })
  if (words.length === 1 && !words[0].includes('/')) throw new AppError('agent_unknown', { agent: name, origin })
  return { kind: 'custom', name: adhocName(words), command: words }
}

/**
 * Whether an agent has its name from our list or the person's settings, so that the name says what is run. Any other name
 * was made from a command line, to which nobody has agreed.
 */
export function isKnownByName({ kind, name, command }: AgentChoice, custom: CustomAgents): boolean {
  if (kind !== 'custom') return true
  const own = Object.hasOwn(custom, name) ? custom[name] : undefined
  if (!own) return false
  const split = splitWords(own.command)
  return 'words' in split && JSON.stringify(split.words) === JSON.stringify(command)
}

/** The command of a known kind, without arguments that are always given. Arguments that could loosen its control are refused. */
function chooseKnownAgent(
  kind: AgentKind,
  [program, ...rest]: [string, ...string[]],
  mention: AgentMention,
): AgentChoice {
  const { commandLine, speaks, start } = AGENTS[kind]
  const other = start.bundled ? `another ${kind} is named by agents.path` : CUSTOM
  if (program.includes('/'))
    throw malformed(mention, `${program} is a path, and only the ${kind} of your PATH is known; ${other}`)
  const words = rest.filter(word => !commandLine.protocol.includes(word))
  if (speaks === 'sdk' && words[0] !== undefined)
    throw malformed(mention, `${kind} is driven through its library and takes no arguments, such as ${words[0]}`)
  refuseOtherFlags(kind, words, mention)
  return { kind, name: kind, ...(words.length > 0 && { command: [program, ...words] }) }
}

const CUSTOM = 'another program stands in [agents.custom.<name>], and is only observed'

function refuseOtherFlags(kind: AgentKind, words: readonly string[], mention: AgentMention): void {
  const { flags } = AGENTS[kind].commandLine
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    const [flag = '', inline] = word.startsWith('--') ? splitFlag(word) : [word]
    const takes = Object.hasOwn(flags, flag) ? flags[flag] : undefined
    const value = takes === 'value' ? (inline ?? words[++at]) : undefined
    const isAllowed = takes === 'value' ? value !== undefined && !value.startsWith('-') : takes && inline === undefined
    if (isAllowed) continue
    const allowed = Object.keys(flags).join(', ') || 'none'
    throw malformed(mention, `${word} could loosen the control over ${kind}; the allowed flags are: ${allowed}`)
  }
}

function splitFlag(word: string): [string, string?] {
  const at = word.indexOf('=')
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)]
}

/** A command line and where it comes from. */
interface AgentMention {
  text: string
  /** `--agent`, a variable, or a file with its line. */
  origin: string
  /** The directory to which relative paths refer. */
  directory?: string | undefined
}

/**
 * The words of a command line, its program first. All paths are made absolute: a relative path would lead into the worktree
 * in which the agent works, where an agent may have written that file. Anything else that would be loaded from there is refused.
 */
function commandWords(mention: AgentMention): [string, ...string[]] {
  const split = splitWords(mention.text)
  if ('problem' in split) throw malformed(mention, split.problem)
  const [program = '', ...rest] = split.words
  if (program === '') throw malformed(mention, 'it names no program')
  if (/^[A-Za-z_]\w*=/.test(program))
    throw malformed(
      mention,
      `${program.split('=')[0]} is set before the program; variables are passed on by agents.env`,
    )
  const problem = findUnsafeLoading(basename(program), rest)
  if (problem !== undefined) throw malformed(mention, problem)
  const isScript = (at: number, word: string) => at === 0 && INTERPRETER.test(basename(program)) && !/^[-@]/.test(word)
  return [
    makeAbsolute(program, program.includes('/'), mention),
    ...rest.map((word, at) => makeAbsolute(word, isScript(at, word) || isFile(word), mention)),
  ]
}

/** Whether an interpreter would take a word for a file: by its slash or its extension. Packages (`@scope/name`) and URLs are not files. */
function isFile(word: string): boolean {
  if (/^[-@]|:\/\//.test(word)) return false
  return word.includes('/') || /\.([cm]?[jt]sx?|py|rb|pl|php|lua|sh|bash|jar|wasm)$/i.test(word)
}

/** Whether a program is a Python interpreter. */
function isPython(program: string): boolean {
  return /^(python|pypy)[\d.]*$/.test(program)
}

/** The error for a command line that cannot be understood. */
export function malformed({ text: agent, origin }: AgentMention, problem: string): AppError<'agent_malformed'> {
  return new AppError('agent_malformed', { agent, origin, problem })
}

/** The first argument of one of these is a file, whatever its name. */
const INTERPRETER = /^(node|tsx|ruby|perl|php|lua|bash|dash|sh|zsh|(python|pypy)[\d.]*)$/

/** Reports what the program would load from the directory in which it is started. */
function findUnsafeLoading(program: string, words: readonly string[]): string | undefined {
  if (isPython(program)) return findPythonProblem(program, words)
  return program === 'node' ? findNodeProblem(words) : undefined
}

/** Reports a module that Node loads before the script. Arguments after the script belong to the script. */
function findNodeProblem(words: readonly string[]): string | undefined {
  const script = words[0]?.startsWith('-') ? words.findIndex(isFile) : 0
  const own = script < 0 ? words : words.slice(0, script)
  const loads = own.findIndex(word => /^(-r|--require|--import|--loader|--experimental-loader)(=|$)/.test(word))
  if (loads < 0) return undefined
  const [flag = '', inline] = (words[loads] ?? '').split(/=(.*)/s)
  const name = inline ?? words[loads + 1] ?? ''
  if (/^(\.|\/|\w+:)/.test(name)) return undefined
  return `node looks for ${name || 'what it loads'} (${flag}) in the folder that the agent works in, where an agent may have put it; name it by its absolute path`
}

/** With `-m` and `-c`, Python searches the start directory first, unless `-P` or `-I` comes before. */
function findPythonProblem(program: string, words: readonly string[]): string | undefined {
  let isSafe = false
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (!word.startsWith('-')) return undefined
    const letters = word.startsWith('--') ? '' : word.slice(1)
    const last = /[cmWX]/.exec(letters)
    isSafe ||= /[IP]/.test(letters.slice(0, last?.index))
    if (last?.[0] === 'm' || last?.[0] === 'c') return isSafe ? undefined : unsafePython(program, last[0])
    // A value that is not attached to its option is the next word.
    if (last && last.index === letters.length - 1) at++
  }
  return undefined
}

function unsafePython(program: string, flag: string): string {
  return `${program} -${flag} takes modules from the folder that the agent works in first, where an agent may have put them; write ${program} -P -${flag} (Python 3.11 and later), or name the program that the package installs`
}

function makeAbsolute(word: string, isPath: boolean, mention: AgentMention): string {
  if (/^-[^=]*=\.{0,2}[^/]*\//.test(word) && !/=\/|:\/\//.test(word))
    throw malformed(mention, `the path in ${word} is not absolute`)
  if (!isPath || isAbsolute(word)) return word
  if (mention.directory === undefined) throw malformed(mention, `the path ${word} is not absolute`)
  return resolve(mention.directory, word)
}

/**
 * The name of an agent that has only a command line: its program, what that runs, and a hash of the whole line, so that no two
 * agents have the same name, nor that of an agent in the settings. Other words are left out, because one may be a secret.
 */
function adhocName([program = '', ...words]: readonly string[]): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([program, ...words]))
    .digest('hex')
    .slice(0, 6)
  const runs = findRunName(basename(program), words)
  return `${[basename(program), ...(runs === undefined ? [] : [runs])].join(' ').slice(0, 60)} (${hash})`
}

function findRunName(program: string, words: readonly string[]): string | undefined {
  const module = isPython(program) ? words.indexOf('-m') : -1
  if (module >= 0) return words.slice(module, module + 2).join(' ')
  const file = words.find(word => isFile(word) && !word.includes('='))
  if (file !== undefined) return basename(file)
  const [first = ''] = words
  return words.find(word => /^@[\w.-]+\/[\w.@-]+$/.test(word)) ?? (/^[a-z][\w-]*$/.test(first) ? first : undefined)
}
