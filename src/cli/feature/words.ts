import type { FeatureView } from '../../domain/features/feature.ts'
import type { FeaturePhase } from '../../domain/features/phase.ts'
import type { Terminal, Tone } from '../render/paint.ts'
import { cut, firstLine, neutral, pad, widthOf } from '../render/text.ts'
import { countsText } from '../run/words.ts'

const PHASES: Record<FeaturePhase, { words: string; next: string }> = {
  interview: { words: 'interview', next: 'the interview' },
  spec: { words: 'writing the spec', next: 'the spec' },
  plan: { words: 'planning', next: 'the plan' },
  tasks: { words: 'making tasks', next: 'the tasks' },
  ready: { words: 'ready', next: '' },
}

/** `● planning`, `○ next: the plan`, `✗ halted: …`, `✓ ready`. */
function phaseText({ phase, session, problem }: FeatureView): { text: string; tone: Tone } {
  if (phase === 'ready') return { text: '✓ ready', tone: 'green' }
  if (problem !== null) return { text: `✗ halted at ${PHASES[phase].next}`, tone: 'red' }
  if (!session) return { text: `○ next: ${PHASES[phase].next}`, tone: 'cyan' }
  if (session.status === 'waiting_input') return { text: `⏳ ${PHASES[phase].words}: waits for you`, tone: 'yellow' }
  const waits = session.status === 'rate_limited' || session.status === 'paused'
  return waits
    ? { text: `⏳ ${PHASES[phase].words}: ${session.status.replace('_', ' ')}`, tone: 'yellow' }
    : { text: `● ${PHASES[phase].words}`, tone: 'green' }
}

/** What is shown before the work begins. */
export function headLines(feature: FeatureView, { interactive }: { interactive: boolean }): string[] {
  const { name, phase, session } = feature
  if (phase === 'ready' || !session) return []
  const asks = interactive && phase === 'interview'
  return [
    `Feature ${neutral(name)}: ${PHASES[phase].words} (${session.id})`,
    ...(asks ? ['Answer what you are asked. "done" as an answer ends the interview; Ctrl+C leaves it for later.'] : []),
  ]
}

/** What is shown when it has its tasks. */
export function readyLines({ name, tasks }: FeatureView): string[] {
  const count = Object.values(tasks).reduce((sum, each) => sum + each, 0)
  return [
    `✓ Feature ${neutral(name)} is ready: ${count} ${count === 1 ? 'task' : 'tasks'}.`,
    `See them with: pcc feature show ${name}`,
    `Work through them with: pcc run ${name}`,
  ]
}

/** Where it stands, and how it goes on. */
export function standingLines(feature: FeatureView, { paint }: Terminal): string[] {
  const { text, tone } = phaseText(feature)
  const { name, problem } = feature
  return [
    `Feature ${neutral(name)}: ${paint(tone, text)}`,
    ...(problem === null ? [] : problem.split('\n').map(line => `  ${neutral(line)}`)),
    ...goOnLines(feature),
  ]
}

function goOnLines({ name, session, phase, problem }: FeatureView): string[] {
  if (phase === 'ready') return [`Work through it with: pcc run ${name}`]
  if (session?.status === 'waiting_input') return [`Answer it with: pcc feature create ${name} (or pcc pending)`]
  if (session?.status === 'rate_limited' && problem === null) return ['It goes on by itself when the limit is over.']
  if (session?.status === 'processing') return [`Watch it with: pcc attach ${session.id}`]
  return [`Go on with: pcc feature create ${name}`]
}

/** `pcc feature list`: one line each. */
export function listLines(features: readonly FeatureView[], terminal: Terminal): string[] {
  if (features.length === 0) return ['No features yet. Begin one with: pcc feature create <name>']
  const names = features.map(({ name }) => firstLine(name))
  const states = features.map(feature => phaseText(feature))
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
export function pageLines(feature: FeatureView, terminal: Terminal): string[] {
  const { id, name, project, spec, plan, tasks } = feature
  const file = ({ path, exists }: FeatureView['spec']) => (exists ? path : `${path} (not there yet)`)
  return [
    `${terminal.paint('bold', firstLine(name))}${id === null ? '' : ` (${id})`} in ${project}`,
    `Spec:  ${file(spec)}`,
    `Plan:  ${file(plan)}`,
    `Tasks: ${countsText({ tasks, unverified: 0 })}`,
    ...standingLines(feature, terminal),
  ]
}

function widest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(widthOf))
}
