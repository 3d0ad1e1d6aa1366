import { basename, isAbsolute, resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { splitWords } from '../../base/text/split-words.ts'
import type { AgentChoice } from './choice.ts'
import { AGENT_KINDS, type AgentKind } from './manifest.ts'

/** What somebody said about the agent, and where. */
export interface Wish {
  /** A kind, the name of a custom agent, or a command line. */
  text: string
  /** `--agent`, a variable, or a file with its line. */
  origin: string
  /** Agents of the person's own, by name. */
  custom: CustomAgents
  /** Where a relative path begins. */
  directory?: string | undefined
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
const OURS: Record<AgentKind, readonly string[]> = {
  claude: [],
  'claude-acp': [],
  gemini: ['--acp', '--experimental-acp'],
  codex: ['app-server'],
  opencode: ['acp'],
}

/** Words that would take away what holds the agent. Whoever wants them has an agent that is only observed: a custom one. */
const LOOSENING: Partial<Record<AgentKind, RegExp>> = {
  gemini:
    /^(-y|--yolo|--approval-mode|--allowed-tools|--policy|--admin-policy|-p|--prompt|-i|--prompt-interactive)(=|$)/,
  codex:
    /^(-[acps].*|(--ask-for-approval|--sandbox|--full-auto|--yolo|--dangerously-.*|--config|--enable|--profile|--add-dir|--search|--listen)(=.*)?)$/,
  opencode: /^(--dangerously-.*|--yolo)(=|$)/,
}

/** Which agent a text means. Nothing is expanded and no shell is asked; what cannot be understood is refused with its place. */
export function chooseAgent({ text, origin, custom, directory }: Wish): AgentChoice {
  const name = text.trim()
  if (isKind(name)) return { kind: name, name }
  const own = Object.hasOwn(custom, name) ? custom[name] : undefined
  if (own) {
    const words = wordsOf({ text: own.command, origin: `agents.custom.${name}, named by ${origin}` })
    return { kind: 'custom', name, command: words }
  }
  const words = wordsOf({ text, origin, directory })
  const kind = AGENT_KINDS.find(each => PROGRAMS[each] === basename(words[0]))
  if (kind) return knownAgent(kind, words, { text, origin })
  if (words.length === 1 && !words[0].includes('/')) throw new AppError('agent_unknown', { agent: name, origin })
  return { kind: 'custom', name: basename(words[0]), command: words }
}

type Said = Pick<Wish, 'text' | 'origin' | 'directory'>

/** The command of a kind: what is given anyway is left out, what would loosen it is refused. */
function knownAgent(kind: AgentKind, [program, ...rest]: [string, ...string[]], said: Said): AgentChoice {
  const words = rest.filter(word => !OURS[kind].includes(word))
  const loose = words.find(word => LOOSENING[kind]?.test(word))
  if (loose !== undefined) throw refused(said, `${loose} would take away what holds ${kind}`)
  if (kind === 'claude' && words[0] !== undefined)
    throw refused(said, `claude is driven through its library and takes no words of its own, as ${words[0]}`)
  const isUsual = program === PROGRAMS[kind] && words.length === 0
  return { kind, name: kind, ...(!isUsual && { command: [program, ...words] }) }
}

function isKind(name: string): name is AgentKind {
  return (AGENT_KINDS as readonly string[]).includes(name)
}

function wordsOf(said: Said): [string, ...string[]] {
  const split = splitWords(said.text)
  if ('problem' in split) throw refused(said, split.problem)
  const [program = '', ...rest] = split.words
  if (program === '') throw refused(said, 'it names no program')
  if (/^[A-Za-z_]\w*=/.test(program))
    throw refused(said, `${program.split('=')[0]} is set before the program, and variables travel by agents.env`)
  if (!program.includes('/') || isAbsolute(program)) return [program, ...rest]
  if (said.directory === undefined) throw refused(said, `the path ${program} is not a whole one`)
  return [resolve(said.directory, program), ...rest]
}

function refused({ text: agent, origin }: Said, problem: string): AppError {
  return new AppError('agent_malformed', { agent, origin, problem })
}
