import { resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { neutral } from '../../base/neutral.ts'
import type { FeatureView } from '../../domain/feature.ts'
import type { DocumentKind, FeaturePhase } from '../../domain/feature-phase.ts'
import type { TaskView } from '../../domain/task.ts'
import { openClient } from '../connection/client.ts'
import { featurePath } from '../connection/connection.ts'
import { type CommandContext, isInteractive } from '../context.ts'
import { confirm, openInEditor } from '../input.ts'
import { cut, firstLine, pad, type Terminal, type Tone, widthOf } from '../render/text.ts'
import { countsText } from './run/format.ts'
import { taskLines } from './task/lines.ts'

/** `pcc feature list` */
export async function listFeatures(project = '.', context: CommandContext): Promise<void> {
  const client = await openClient(context.paths, context)
  const path = `/features?project=${encodeURIComponent(resolve(project))}`
  const { features } = await client.request<{ features: FeatureView[] }>('GET', path)
  print({ features }, () => featureLines(features, context.terminal), context)
}

/** `pcc feature show` */
export async function showFeature(name: string, project = '.', context: CommandContext): Promise<void> {
  const client = await openClient(context.paths, context)
  const key = { project: resolve(project), name }
  const feature = await client.request<FeatureView>('GET', featurePath(key))
  const query = `project=${encodeURIComponent(feature.project)}&feature=${encodeURIComponent(name)}`
  const { tasks } = await client.request<{ tasks: TaskView[] }>('GET', `/tasks?${query}`)
  const taskSection = tasks.length === 0 ? [] : ['', ...taskLines(tasks, context.terminal)]
  print({ ...feature, task_list: tasks }, () => [...featurePage(feature, context.terminal), ...taskSection], context)
}

interface DeleteFlags {
  project?: string
  files?: true
  tasks?: true
  yes?: true
}

/** `pcc feature delete` */
export async function deleteFeature(name: string, flags: DeleteFlags, context: CommandContext): Promise<void> {
  const client = await openClient(context.paths, context)
  const key = { project: resolve(flags.project ?? '.'), name }
  const feature = await client.request<FeatureView>('GET', featurePath(key))
  const extras = [...(flags.files ? ['its files'] : []), ...(flags.tasks ? ['its tasks'] : [])]
  const what = [`the feature ${name}`, ...extras].join(' with ').replace(' with its tasks', ' and its tasks')
  await confirm({ action: `Deleting ${what}`, question: `Delete ${what}?`, yes: flags.yes === true })
  const query = `${flags.files ? '&files=true' : ''}${flags.tasks ? '&tasks=true' : ''}`
  await client.request('DELETE', `${featurePath(key)}${query}`)
  const kept = feature.spec.exists && !flags.files ? [`Its files are left: ${feature.spec.path}`] : []
  print({ deleted: name }, () => [`Deleted ${what}.`, ...kept], context)
}

function print(answer: unknown, lines: () => string[], { json, out }: CommandContext): void {
  for (const line of json ? [JSON.stringify(answer, null, 2)] : lines()) out(line)
}

/** `pcc feature edit`: opens the file in the person's editor, or prints its path if there is no terminal. */
export async function editFeature(
  name: string,
  { project = '.', kind }: { project?: string | undefined; kind: DocumentKind },
  context: CommandContext,
): Promise<void> {
  const client = await openClient(context.paths, context)
  const feature = await client.request<FeatureView>('GET', featurePath({ project: resolve(project), name }))
  const { path, exists } = feature[kind]
  if (!exists) throw new AppError('feature_file', { path, problem: `there is no ${kind} yet` })
  if (isInteractive(context)) return openInEditor(path, context.env)
  context.out(context.json ? JSON.stringify({ path }) : path)
}

const PHASES: Record<FeaturePhase, { text: string; next: string; begin: string }> = {
  interview: { text: 'interview', next: 'the interview', begin: 'be interviewed' },
  spec: { text: 'writing the spec', next: 'the spec', begin: 'have it written' },
  plan: { text: 'planning', next: 'the plan', begin: 'plan it' },
  tasks: { text: 'making tasks', next: 'the tasks', begin: 'make the tasks' },
  ready: { text: 'ready', next: '', begin: '' },
}

/** What a person says yes to when the next phase begins. */
export function beginText({ phase }: Pick<FeatureView, 'phase'>): string {
  return PHASES[phase].begin
}

/** `● planning`, `○ next: the plan`, `✗ halted: …`, `✓ ready`. */
function describePhase({ phase, session, problem }: FeatureView): { text: string; tone: Tone } {
  if (phase === 'ready') return { text: '✓ ready', tone: 'green' }
  if (problem !== null) return { text: `✗ halted at ${PHASES[phase].next}`, tone: 'red' }
  if (!session) return { text: `○ next: ${PHASES[phase].next}`, tone: 'cyan' }
  if (session.status === 'waiting_input') return { text: `⏳ ${PHASES[phase].text}: waits for you`, tone: 'yellow' }
  const isWaiting = session.status === 'rate_limited' || session.status === 'paused'
  return isWaiting
    ? { text: `⏳ ${PHASES[phase].text}: ${session.status.replace('_', ' ')}`, tone: 'yellow' }
    : { text: `● ${PHASES[phase].text}`, tone: 'green' }
}

interface HeadOptions {
  interactive: boolean
  /** The feature as it was before the command, if it existed. */
  existing: FeatureView | undefined
}

/** Shown before the work begins. */
export function featureHeadLines(feature: FeatureView, { interactive, existing }: HeadOptions): string[] {
  const { name, phase, session } = feature
  if (phase === 'ready' || !session) return []
  const isInterview = interactive && phase === 'interview'
  const before = existing?.session?.id === session.id ? existing.session.status : undefined
  const how = before === undefined ? '' : isAtWork(before) ? ' is at work already' : ' was begun before and goes on'
  return [
    `Feature ${neutral(name)}${how}: ${PHASES[phase].text} (${session.id})`,
    ...(isInterview
      ? ['Answer what you are asked. "done" as an answer ends the interview; Ctrl+C leaves it for later.']
      : []),
  ]
}

/** Shown when a phase is begun again because its agent ended without the document. */
export function askedAgainLines({ phase, session }: FeatureView, before: FeatureView): string[] {
  if (phase === 'ready' || phase !== before.phase || !session || session.id === before.session?.id) return []
  return [`Its agent ended without ${PHASES[phase].next}: another one is asked (${session.id})`]
}

/** Shown when the feature has its tasks. */
export function readyLines({ name, tasks }: FeatureView): string[] {
  const count = Object.values(tasks).reduce((sum, each) => sum + each, 0)
  return [
    `✓ Feature ${neutral(name)} is ready: ${count} ${count === 1 ? 'task' : 'tasks'}.`,
    `See them with: pcc feature show ${name}`,
    `Work through them with: pcc run ${name}`,
  ]
}

/** The state of the feature, and how to go on with it. */
export function phaseLines(feature: FeatureView, { paint }: Terminal): string[] {
  const { text, tone } = describePhase(feature)
  const { name, problem } = feature
  return [
    `Feature ${neutral(name)}: ${paint(tone, text)}`,
    ...(problem === null ? [] : problem.split('\n').map(line => `  ${neutral(line)}`)),
    ...nextStepLines(feature),
  ]
}

function nextStepLines({ name, session, phase, problem }: FeatureView): string[] {
  if (phase === 'ready') return [`Work through it with: pcc run ${name}`]
  if (session?.status === 'waiting_input') return [`Answer it with: pcc feature create ${name} (or pcc pending)`]
  if (session?.status === 'rate_limited' && problem === null) return ['It goes on by itself when the limit is over.']
  if (session && problem === null && isAtWork(session.status)) return [`Watch it with: pcc attach ${session.id}`]
  // A session that waits says for what, and what helps.
  const why = session?.status === 'paused' && problem === null ? (session.reason ?? '').split('\n') : []
  return [
    ...why.filter(line => line !== '').map(line => `  ${neutral(line)}`),
    `Go on with: pcc feature create ${name}`,
  ]
}

function isAtWork(status: string): boolean {
  return status === 'processing' || status === 'idle'
}

/** The lines of `pcc feature list`, one for each feature. */
function featureLines(features: readonly FeatureView[], terminal: Terminal): string[] {
  if (features.length === 0) return ['No features yet. Begin one with: pcc feature create <name>']
  const names = features.map(({ name }) => firstLine(name))
  const states = features.map(feature => describePhase(feature))
  const [nameWidth, stateWidth] = [widest(names), widest(states.map(({ text }) => text))]
  return features.map((feature, index) => {
    const state = states[index] ?? { text: '', tone: 'dim' as const }
    const tasks = countsText({ tasks: feature.tasks, unverified: 0 })
    const painted = terminal.paint(state.tone, pad(state.text, stateWidth))
    const room = terminal.width - nameWidth - stateWidth - 4
    return `${pad(names[index] ?? '', nameWidth)}  ${painted}  ${cut(tasks, room)}`
  })
}

/** `pcc feature show`, without its tasks. */
function featurePage(feature: FeatureView, terminal: Terminal): string[] {
  const { id, name, project, spec, plan, tasks } = feature
  const describeFile = ({ path, exists }: FeatureView['spec']) => (exists ? path : `${path} (not written yet)`)
  return [
    `${terminal.paint('bold', firstLine(name))}${id === null ? '' : ` (${id})`} in ${project}`,
    `Spec:  ${describeFile(spec)}`,
    `Plan:  ${describeFile(plan)}`,
    `Tasks: ${countsText({ tasks, unverified: 0 })}`,
    ...phaseLines(feature, terminal),
  ]
}

function widest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(widthOf))
}
