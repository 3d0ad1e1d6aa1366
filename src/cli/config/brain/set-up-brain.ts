import { AppError } from '../../../base/errors.ts'
import { nearest } from '../../../base/nearest.ts'
import { listModels } from '../../../brain/models/list-models.ts'
import { openBrain } from '../../../brain/models/open.ts'
import { setUpOf } from '../../../brain/models/set-up.ts'
import { MODEL_SETTING, type ModelKind } from '../../../domain/brain/brain-kind.ts'
import type { Config, Values } from '../../../domain/config/config.ts'
import type { QuestionItem } from '../../../domain/session.ts'
import { type BrainOptions, chooseReach } from './choices.ts'
import type { Person } from './person.ts'

export interface BrainWanted {
  kind: ModelKind
  options: BrainOptions & { test: boolean }
  /** The settings as they would be with these in their place. */
  load(settings: Partial<Values>): Promise<{ config: Config; values: Values }>
  /** Undefined where nobody can be asked. */
  person: Person | undefined
  env: Record<string, string | undefined>
  note(line: string): void
  signal: AbortSignal
}

export interface Tested {
  answer: string
  confidence: number
  ms: number
}

export interface BrainChosen {
  /** What is to be written, the type last: until then nothing has changed. */
  settings: Partial<Values>
  model: string
  /** What came of the test question; undefined where none was asked. */
  tested: Tested | undefined
}

/** Finds out all that a kind of brain needs, checks server and model, and asks it a question. Writes nothing. */
export async function setUpBrain(wanted: BrainWanted): Promise<BrainChosen> {
  const { kind, options, load } = wanted
  const { values } = await load({})
  const reach = await chooseReach({ ...wanted, values })
  const model = await chooseModel(wanted, reach)
  const settings: Partial<Values> = { ...reach, [MODEL_SETTING[kind]]: model, 'brain.type': kind }
  if (!options.test) return { settings, model, tested: undefined }
  return { model, ...(await asked(wanted, settings)) }
}

async function chooseModel(wanted: BrainWanted, reach: Partial<Values>): Promise<string> {
  const { kind, options, load, person, env, signal, note } = wanted
  const { config, values } = await load(reach)
  const named = options.model ?? values[MODEL_SETTING[kind]]
  if (kind === 'claude' || !options.test) return named ?? missing(kind)
  // A model stands in for the one to be chosen: what counts here is the rest.
  const setUp = setUpOf(kind, withModel(config, kind), env)
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

async function typedModel(kind: ModelKind, person: Person): Promise<string> {
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
  const near = nearest(
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
async function asked(
  wanted: BrainWanted,
  settings: Partial<Values>,
): Promise<{ settings: Partial<Values>; tested: Tested }> {
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
  { kind, load, env, signal }: BrainWanted,
  settings: Partial<Values>,
): Promise<{ tested: Tested } | { problem: string }> {
  const { config } = await load(settings)
  const brain = await openBrain(kind, config, env)
  const context = { project: 'test', task: 'Find out whether you can be reached.', decisions: [], similar: [] }
  const start = performance.now()
  const { value, confidence, reasoning } = await brain.answerQuestion([TEST], context, signal)
  const answer = value?.flat().join(', ')
  if (answer === undefined) return { problem: reasoning }
  return { tested: { answer, confidence, ms: Math.round(performance.now() - start) } }
}
