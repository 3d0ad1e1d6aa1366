import { text as textOf } from 'node:stream/consumers'
import { AppError } from '../../base/errors.ts'
import { findNearestWord } from '../../base/words.ts'
import { listModels, openBrain, readModelSetup } from '../../brain/open.ts'
import type { Config, Values } from '../../domain/config/settings.ts'
import { MODEL_SETTING, type ModelKind } from '../../domain/option-values.ts'
import type { QuestionItem } from '../../domain/session.ts'
import type { Prompter } from '../input.ts'

export interface BrainSetup {
  kind: ModelKind
  options: BrainOptions & { test: boolean }
  /** The settings as they would be with these in their place. */
  load(settings: Partial<Values>): Promise<{ config: Config; values: Values }>
  /** Undefined where nobody can be asked. */
  person: Prompter | undefined
  env: Record<string, string | undefined>
  note(line: string): void
  signal: AbortSignal
}

export interface BrainTest {
  answer: string
  confidence: number
  ms: number
}

export interface BrainChosen {
  /** What is to be written, the type last: until then nothing has changed. */
  settings: Partial<Values>
  model: string
  /** What came of the test question; undefined where none was asked. */
  tested: BrainTest | undefined
}

/** Finds out all that a kind of brain needs, checks server and model, and asks it a question. Writes nothing. */
export async function setUpBrain(wanted: BrainSetup): Promise<BrainChosen> {
  const { kind, options, load } = wanted
  const { values } = await load({})
  const reach = await chooseReach({ ...wanted, values })
  const model = await chooseModel(wanted, reach)
  const settings: Partial<Values> = { ...reach, [MODEL_SETTING[kind]]: model, 'brain.type': kind }
  if (!options.test) return { settings, model, tested: undefined }
  return { model, ...(await askModel(wanted, settings)) }
}

async function chooseModel(wanted: BrainSetup, reach: Partial<Values>): Promise<string> {
  const { kind, options, load, person, env, signal, note } = wanted
  const { config, values } = await load(reach)
  const named = options.model ?? values[MODEL_SETTING[kind]]
  if (kind === 'claude' || !options.test) return named ?? missing(kind)
  // A model stands in for the one to be chosen: what counts here is the rest.
  const setUp = readModelSetup(kind, withModel(config, kind), env)
  if ('problem' in setUp) throw new AppError('brain_unusable', { kind, problem: `it ${setUp.problem}` })
  if (setUp.kind === 'claude') return named ?? missing(kind)
  const listing = await listModels(setUp, signal)
  if ('unreachable' in listing) {
    const at = setUp.kind === 'ollama' ? setUp.host : setUp.baseUrl
    const remedy = kind === 'ollama' ? '. Start it with: ollama serve' : ''
    throw new AppError('brain_unusable', { kind, problem: `nothing answers at ${at}: ${listing.unreachable}${remedy}` })
  }
  if ('refused' in listing)
    throw new AppError('brain_unusable', { kind, problem: `its server refuses: ${listing.refused}` })
  const { models } = listing
  if (models === undefined) return named ?? (person ? await typedModel(kind, person) : missing(kind))
  const found = named === undefined ? undefined : models.find(each => each === named || each === `${named}:latest`)
  if (found !== undefined) return found
  if (options.model === undefined && person && models.length > 0) {
    if (named !== undefined) note(`${kind} has no model ${named}.`)
    return person.choose('Model', models)
  }
  if (named === undefined && models.length > 0) return missing(kind)
  throw new AppError('brain_unusable', { kind, problem: noModel(kind, named, models) })
}

async function typedModel(kind: ModelKind, person: Prompter): Promise<string> {
  return (await person.text('Model', 'its name')) || missing(kind)
}

function withModel(config: Config, kind: ModelKind): Config {
  const { brain } = config
  const model = 'chosen-next'
  if (kind === 'ollama') return { ...config, brain: { ...brain, ollama: { ...brain.ollama, model } } }
  if (kind !== 'openai-compatible') return config
  return { ...config, brain: { ...brain, openai_compatible: { ...brain.openai_compatible, model } } }
}

function missing(kind: ModelKind): never {
  throw new AppError('brain_input_missing', { kind, what: 'a model', how: '--model NAME' })
}

function noModel(kind: ModelKind, named: string | undefined, models: string[]): string {
  const pull = kind === 'ollama' ? `. Fetch it with: ollama pull ${named ?? 'MODEL'}` : ''
  if (named === undefined) return `it has no model yet${pull}`
  const near = findNearestWord(
    named,
    models.map(each => ({ form: each.toLowerCase().replaceAll('-', '_'), means: each })),
  )
  const known = models.slice(0, 10).join(', ') || 'none'
  return `it has no model "${named}"${near ? `; did you mean "${near}"?` : ''} It has: ${known}${pull}`
}

const TEST: QuestionItem = {
  question: 'Which of these is a fruit?',
  header: 'Test',
  multiSelect: false,
  options: [
    { label: 'Apple', description: 'grows on a tree' },
    { label: 'Hammer', description: 'drives nails' },
  ],
}

/** The test question. A server that does not know schemas is asked without, and that is written down. */
async function askModel(
  wanted: BrainSetup,
  settings: Partial<Values>,
): Promise<{ settings: Partial<Values>; tested: BrainTest }> {
  const { kind, note } = wanted
  const first = await tryOut(wanted, settings)
  if ('tested' in first) return { settings, tested: first.tested }
  if (kind === 'openai-compatible' && /status 4\d\d/.test(first.problem)) {
    note('It did not take a schema; trying without.')
    const plain: Partial<Values> = { 'brain.openai_compatible.json_schema': false, ...settings }
    const second = await tryOut(wanted, plain)
    if ('tested' in second) return { settings: plain, tested: second.tested }
  }
  throw new AppError('brain_unusable', { kind, problem: first.problem })
}

async function tryOut(
  { kind, load, env, signal }: BrainSetup,
  settings: Partial<Values>,
): Promise<{ tested: BrainTest } | { problem: string }> {
  const { config } = await load(settings)
  const brain = await openBrain(kind, config, env)
  const context = { project: 'test', task: 'Find out whether you can be reached.', decisions: [], similar: [] }
  const start = performance.now()
  const { value, confidence, reasoning } = await brain.answerQuestion([TEST], context, signal)
  const answer = value?.flat().join(', ')
  if (answer === undefined) return { problem: reasoning }
  return { tested: { answer, confidence, ms: Math.round(performance.now() - start) } }
}

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

interface BrainChoice {
  kind: ModelKind
  options: BrainOptions
  /** What holds now. */
  values: Values
  person: Prompter | undefined
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
async function chooseReach(choosing: BrainChoice): Promise<Partial<Values>> {
  const { kind } = choosing
  const { key, url } = SECTION[kind]
  const address = url && (await chooseUrl(choosing, choosing.values[url]))
  const secret = key && (await chooseKey(choosing, choosing.values[key]))
  return {
    ...(url && address !== undefined && { [url]: address }),
    ...(key && secret !== undefined && { [key]: secret }),
  }
}

async function chooseUrl(
  { kind, options, person }: BrainChoice,
  held: string | undefined,
): Promise<string | undefined> {
  if (options.url !== undefined) return options.url
  if (held !== undefined) return undefined
  if (!person) throw new AppError('brain_input_missing', { kind, what: 'the address of its server', how: '--url URL' })
  const typed = await person.text('Address of the server', 'http://localhost:1234/v1')
  return typed || undefined
}

/** `env:NAME` is kept as it is, so that the key itself is in no file. */
async function chooseKey(choosing: BrainChoice, held: string | undefined): Promise<string | undefined> {
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
