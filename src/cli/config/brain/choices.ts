import { text as textOf } from 'node:stream/consumers'
import { AppError } from '../../../base/errors.ts'
import type { ModelKind } from '../../../domain/brain/brain-kind.ts'
import type { Values } from '../../../domain/config/config.ts'
import type { Person } from './person.ts'

export interface BrainOptions {
  model?: string | undefined
  /** `--key-env`: the variable that holds the key. */
  keyEnv?: string | undefined
  keyStdin?: boolean | undefined
  /** `--url`: where the server is. */
  url?: string | undefined
}

/** The settings of one kind of brain: its key, its address, its model. */
const SECTION = {
  gemini: { key: 'brain.gemini.api_key', url: 'brain.gemini.base_url', model: 'brain.gemini.model' },
  ollama: { key: undefined, url: 'brain.ollama.host', model: 'brain.ollama.model' },
  claude: { key: undefined, url: undefined, model: 'brain.claude.model' },
  'openai-compatible': {
    key: 'brain.openai_compatible.api_key',
    url: 'brain.openai_compatible.base_url',
    model: 'brain.openai_compatible.model',
  },
} as const satisfies Record<ModelKind, Record<'key' | 'url' | 'model', keyof Values | undefined>>

interface Choosing {
  kind: ModelKind
  options: BrainOptions
  /** What holds now. */
  values: Values
  person: Person | undefined
  env: Record<string, string | undefined>
}

/** What of the command line does not go with this kind of brain, or with itself. */
export function checkOptions(kind: ModelKind | 'none', { model, keyEnv, keyStdin, url }: BrainOptions): void {
  const section = kind === 'none' ? undefined : SECTION[kind]
  const wrong = [
    ...(keyEnv !== undefined && !section?.key ? ['--key-env'] : []),
    ...(keyStdin && !section?.key ? ['--key-stdin'] : []),
    ...(url !== undefined && !section?.url ? ['--url'] : []),
    ...(model !== undefined && !section ? ['--model'] : []),
  ]
  if (wrong.length > 0) throw usage(`${kind} takes no ${wrong.join(' and no ')}`)
  if (keyEnv !== undefined && keyStdin) throw usage('--key-env and --key-stdin say two things about the key')
  if (keyEnv !== undefined && !/^[A-Za-z_]\w*$/.test(keyEnv)) throw usage('--key-env takes the name of a variable')
}

/** Address and key as they are to be stored; undefined where the setting is to stay as it is. */
export async function chooseReach(choosing: Choosing): Promise<Partial<Values>> {
  const { kind } = choosing
  const { key, url } = SECTION[kind]
  const address = url && (await chooseUrl(choosing, choosing.values[url]))
  const secret = key && (await chooseKey(choosing, choosing.values[key]))
  return {
    ...(url && address !== undefined && { [url]: address }),
    ...(key && secret !== undefined && { [key]: secret }),
  }
}

async function chooseUrl({ kind, options, person }: Choosing, held: string | undefined): Promise<string | undefined> {
  if (options.url !== undefined) return options.url
  if (held !== undefined) return undefined
  if (!person) throw new AppError('brain_input_missing', { kind, what: 'the address of its server', how: '--url URL' })
  const typed = await person.text('Address of the server', 'http://localhost:1234/v1')
  return typed || undefined
}

/** `env:NAME` is kept as it is, so that the key itself is in no file. */
async function chooseKey(choosing: Choosing, held: string | undefined): Promise<string | undefined> {
  const { kind, options, person, env } = choosing
  if (options.keyEnv !== undefined) return `env:${options.keyEnv}`
  if (options.keyStdin) return (await textOf(process.stdin)).trim() || undefined
  const optional = kind === 'openai-compatible'
  if (!person) {
    if (held !== undefined || optional) return undefined
    throw new AppError('brain_input_missing', { kind, what: 'its API key', how: '--key-env NAME or --key-stdin' })
  }
  const named = KEY_VARIABLES.find(name => env[name])
  const empty = held !== undefined ? 'as it is' : optional ? 'none' : named ? `the one in ${named}` : undefined
  const typed = await person.secret(`API key, or env:NAME${empty ? ` (Enter: ${empty})` : ''}`)
  if (typed !== '') return typed
  if (held === undefined && !optional && named) return `env:${named}`
  if (held === undefined && !optional)
    throw new AppError('brain_input_missing', { kind, what: 'its API key', how: 'it, or env:NAME' })
  return undefined
}

/** Where people keep a key of Google's. */
const KEY_VARIABLES = ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY', 'GOOGLE_API_KEY']

function usage(problem: string): AppError {
  return new AppError('usage', { problem, command: 'config brain' })
}
