import { basename } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { splitWords } from '../../base/text/split-words.ts'
import { adhocName } from './adhoc-name.ts'
import type { AgentChoice } from './choice.ts'
import { commandWords, malformed, type Said } from './command-words.ts'
import { AGENT_KINDS, type AgentKind } from './manifest.ts'

/** What somebody said about the agent: a kind, the name of a custom agent, or a command line. */
export interface Wish extends Said {
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
const OURS: Record<AgentKind, readonly string[]> = {
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
const GIVEN: Record<AgentKind, Readonly<Record<string, 'value' | 'alone'>>> = {
  claude: {},
  'claude-acp': {},
  gemini: { '-m': 'value', '--model': 'value' },
  codex: { '-m': 'value', '--model': 'value' },
  opencode: { '--print-logs': 'alone', '--log-level': 'value' },
}

/** Which agent a text means. Nothing is expanded and no shell is asked; what cannot be understood is refused with its place. */
export function chooseAgent({ text, origin, custom, directory }: Wish): AgentChoice {
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
function knownAgent(kind: AgentKind, [program, ...rest]: [string, ...string[]], said: Said): AgentChoice {
  if (program.includes('/'))
    throw malformed(said, `${program} is a path, and only the ${kind} of your PATH is known; ${OTHER_PROGRAM[kind]}`)
  const words = rest.filter(word => !OURS[kind].includes(word))
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

function refuseOthers(kind: AgentKind, words: readonly string[], said: Said): void {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    const [flag = '', inline] = word.startsWith('--') ? splitFlag(word) : [word]
    const takes = Object.hasOwn(GIVEN[kind], flag) ? GIVEN[kind][flag] : undefined
    const value = takes === 'value' ? (inline ?? words[++at]) : undefined
    const isGiven = takes === 'value' ? value !== undefined && !value.startsWith('-') : takes && inline === undefined
    if (isGiven) continue
    const given = Object.keys(GIVEN[kind]).join(', ') || 'none'
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
