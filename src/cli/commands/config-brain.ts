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
  /** Loads the settings as they would be with these values set. */
  load(settings: Partial<Values>): Promise<{ config: Config; values: Values }>
  /** Undefined if nobody is there to ask. */
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
  /** The settings to write, the type last: until the type is written nothing has changed. */
  settings: Partial<Values>
  model: string
  /** The result of the test question; undefined if none was asked. */
  tested: BrainTest | undefined
}

/** Collects all that a kind of brain needs, checks its server and model, and asks it a test question. Writes nothing. */
export async function setUpBrain(setup: BrainSetup): Promise<BrainChosen> {
  const { kind, options, load } = setup
  const { values } = await load({})
  const server = await chooseServer({ ...setup, values })
  const model = await chooseModel(setup, server)
  const settings: Partial<Values> = { ...server, [MODEL_SETTING[kind]]: model, 'brain.type': kind }
  if (!options.test) return { settings, model, tested: undefined }
  return { model, ...(await askModel(setup, settings)) }
}

async function chooseModel(setup: BrainSetup, server: Partial<Values>): Promise<string> {
  const { kind, options, load, person, env, signal, note } = setup
  const { config, values } = await load(server)
  const named = options.model ?? values[MODEL_SETTING[kind]]
  if (kind === 'claude' || !options.test) return named ?? failForMissingModel(kind)
  // The model is a placeholder, as it is yet to be chosen; only the other settings count here.
  const modelSetup = readModelSetup(kind, withPlaceholderModel(config, kind), env)
  if ('problem' in modelSetup) throw new AppError('brain_unusable', { kind, problem: `it ${modelSetup.problem}` })
  if (modelSetup.kind === 'claude') return named ?? failForMissingModel(kind)
  const listing = await listModels(modelSetup, signal)
  if ('unreachable' in listing) {
    const at = modelSetup.kind === 'ollama' ? modelSetup.host : modelSetup.baseUrl
    const remedy = kind === 'ollama' ? '. Start it with: ollama serve' : ''
    throw new AppError('brain_unusable', { kind, problem: `nothing answers at ${at}: ${listing.unreachable}${remedy}` })
  }
  if ('refused' in listing)
    throw new AppError('brain_unusable', { kind, problem: `its server refuses: ${listing.refused}` })
  const { models } = listing
  if (models === undefined) return named ?? (person ? await askForModel(kind, person) : failForMissingModel(kind))
  const match = named === undefined ? undefined : models.find(name => name === named || name === `${named}:latest`)
  if (match !== undefined) return match
  if (options.model === undefined && person && models.length > 0) {
    if (named !== undefined) note(`${kind} has no model ${named}.`)
    return person.choose('Model', models)
  }
  if (named === undefined && models.length > 0) return failForMissingModel(kind)
  throw new AppError('brain_unusable', { kind, problem: describeMissingModel(kind, named, models) })
}

async function askForModel(kind: ModelKind, person: Prompter): Promise<string> {
  return (await person.text('Model', 'its name')) || failForMissingModel(kind)
}

function withPlaceholderModel(config: Config, kind: ModelKind): Config {
  const { brain } = config
  const model = 'chosen-next'
  if (kind === 'ollama') return { ...config, brain: { ...brain, ollama: { ...brain.ollama, model } } }
  if (kind !== 'openai-compatible') return config
  return { ...config, brain: { ...brain, openai_compatible: { ...brain.openai_compatible, model } } }
}

function failForMissingModel(kind: ModelKind): never {
  throw new AppError('brain_input_missing', { kind, what: 'a model', how: '--model NAME' })
}

function describeMissingModel(kind: ModelKind, named: string | undefined, models: string[]): string {
  const pull = kind === 'ollama' ? `. Fetch it with: ollama pull ${named ?? 'MODEL'}` : ''
  if (named === undefined) return `it has no model yet${pull}`
  const near = findNearestWord(
    named,
    models.map(name => ({ form: name.toLowerCase().replaceAll('-', '_'), means: name })),
  )
  const available = models.slice(0, 10).join(', ') || 'none'
  return `it has no model "${named}"${near ? `; did you mean "${near}"?` : ''} It has: ${available}${pull}`
}

const TEST_QUESTION: QuestionItem = {
  question: 'Which of these is a fruit?',
  header: 'Test',
  multiSelect: false,
  options: [
    { label: 'Apple', description: 'grows on a tree' },
    { label: 'Hammer', description: 'drives nails' },
  ],
}

/** Asks the test question. A server that rejects JSON schemas is asked without one, and the settings then say so. */
async function askModel(
  setup: BrainSetup,
  settings: Partial<Values>,
): Promise<{ settings: Partial<Values>; tested: BrainTest }> {
  const { kind, note } = setup
  const first = await runTest(setup, settings)
  if ('tested' in first) return { settings, tested: first.tested }
  if (kind === 'openai-compatible' && /status 4\d\d/.test(first.problem)) {
    note('It did not accept a schema; trying without.')
    const plain: Partial<Values> = { 'brain.openai_compatible.json_schema': false, ...settings }
    const second = await runTest(setup, plain)
    if ('tested' in second) return { settings: plain, tested: second.tested }
  }
  throw new AppError('brain_unusable', { kind, problem: first.problem })
}

async function runTest(
  { kind, load, env, signal }: BrainSetup,
  settings: Partial<Values>,
): Promise<{ tested: BrainTest } | { problem: string }> {
  const { config } = await load(settings)
  const brain = await openBrain(kind, config, env)
  const context = { project: 'test', task: 'Find out whether you can be reached.', decisions: [], similar: [] }
  const start = performance.now()
  const { value, confidence, reasoning } = await brain.answerQuestion([TEST_QUESTION], context, signal)
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

/** The settings of each kind of brain: its key, its address, its model. */
const SETTING_NAMES = {
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
  /** The current settings. */
  values: Values
  person: Prompter | undefined
  env: Record<string, string | undefined>
}

/** Throws a usage error for options that do not fit this kind of brain or contradict each other. */
export function checkOptions(kind: ModelKind | 'none', { model, keyEnv, keyStdin, url }: BrainOptions): void {
  const names = kind === 'none' ? undefined : SETTING_NAMES[kind]
  const unsupported = [
    ...(keyEnv !== undefined && !names?.key ? ['--key-env'] : []),
    ...(keyStdin && !names?.key ? ['--key-stdin'] : []),
    ...(url !== undefined && !names?.url ? ['--url'] : []),
    ...(model !== undefined && !names ? ['--model'] : []),
  ]
  if (unsupported.length > 0) throw usage(`${kind} takes no ${unsupported.join(' and no ')}`)
  if (keyEnv !== undefined && keyStdin) throw usage('--key-env and --key-stdin both give the key: use one of them')
  if (keyEnv !== undefined && !/^[A-Za-z_]\w*$/.test(keyEnv)) throw usage('--key-env takes the name of a variable')
}

/** The address and key to store; a setting that stays as it is is left out. */
async function chooseServer(choice: BrainChoice): Promise<Partial<Values>> {
  const { kind } = choice
  const { key, url } = SETTING_NAMES[kind]
  const address = url && (await chooseUrl(choice, choice.values[url]))
  const secret = key && (await chooseKey(choice, choice.values[key]))
  return {
    ...(url && address !== undefined && { [url]: address }),
    ...(key && secret !== undefined && { [key]: secret }),
  }
}

async function chooseUrl(
  { kind, options, person }: BrainChoice,
  current: string | undefined,
): Promise<string | undefined> {
  if (options.url !== undefined) return options.url
  if (current !== undefined) return undefined
  if (!person) throw new AppError('brain_input_missing', { kind, what: 'the address of its server', how: '--url URL' })
  const typed = await person.text('Address of the server', 'http://localhost:1234/v1')
  return typed || undefined
}

/** `env:NAME` is stored as it is, so that the key itself is in no file. */
async function chooseKey(choice: BrainChoice, current: string | undefined): Promise<string | undefined> {
  const { kind, options, person, env } = choice
  if (options.keyEnv !== undefined) return `env:${options.keyEnv}`
  if (options.keyStdin) return (await textOf(process.stdin)).trim() || undefined
  const isOptional = kind === 'openai-compatible'
  if (!person) {
    if (current !== undefined || isOptional) return undefined
    throw new AppError('brain_input_missing', { kind, what: 'its API key', how: '--key-env NAME or --key-stdin' })
  }
  const variable = KEY_VARIABLES[kind].find(name => env[name])
  const byDefault =
    current !== undefined ? 'as it is' : isOptional ? 'none' : variable ? `the one in ${variable}` : undefined
  const typed = await person.secret(`API key, secret:NAME or env:NAME${byDefault ? ` (Enter: ${byDefault})` : ''}`)
  if (typed !== '') return typed
  if (current === undefined && !isOptional && variable) return `env:${variable}`
  if (current === undefined && !isOptional)
    throw new AppError('brain_input_missing', { kind, what: 'its API key', how: 'it, or env:NAME' })
  return undefined
}

/** Variables in which people keep the key of each vendor: the key of one is never offered to another. */
const KEY_VARIABLES: Record<ModelKind, readonly string[]> = {
  gemini: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY', 'GOOGLE_API_KEY'],
  ollama: [],
  claude: [],
  'openai-compatible': [],
}

function usage(problem: string): AppError {
  return new AppError('usage', { problem, command: 'config brain' })
}
