import type { MemoryReader } from '../../domain/memory.ts'
import type { ReportedMemory } from '../../domain/report.ts'
import type { MemoryBroker } from '../../memory/broker.ts'
import { measureLift, renderLift } from '../../memory/learn/lift.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { PHASES, type Phase, RECORDED } from './phases.ts'

export interface MeasuredPeriod {
  since: number
  until: number
  project?: string | undefined
}

export interface MeasureDeps {
  store: Pick<Store, 'events' | 'sessions'>
  broker: MemoryBroker
  /** The last event from which memory has learned. */
  learnedTo: number
  /** When the phases that are not bound to one session ran last. */
  tidiedAt: { organise: number; improve: number }
  now: number
}

/** What memory did in a period, and what recall is worth as far as anybody can tell. */
export async function measureMemory(period: MeasuredPeriod, deps: MeasureDeps): Promise<ReportedMemory> {
  const { store, broker, now } = deps
  const reader: MemoryReader = { agent: 'person', role: null, session: null, projects: [], now }
  const recalls = broker.records('recall', reader).filter(({ task }) => task !== null)
  const isWithin = ({ time }: { time: number }) => time >= period.since && time < period.until
  const ended = (await store.sessions.list({ project: period.project, only: 'open', since: period.since })).filter(
    ({ state, ended_at }) => state === 'ended' && ended_at !== null && isWithin({ time: ended_at }),
  )
  const recalled = new Set(recalls.map(({ task }) => task))
  const ran = await Promise.all(ended.map(row => phasesOf(row, recalled, deps)))
  const due = ran.flatMap(phases => [...phases.values()])
  const recorded = ran.filter(phases => phases.get('record')).length
  const lift = measureLift({
    ...{ results: broker.records('result', reader), now },
    items: broker.inspect(({ file }) => file.lessons()),
    coverage: { recorded, sessions: ended.length },
  })
  const shown = recalls.filter(isWithin)
  return {
    ...{ sessions: ended.length, recorded },
    completeness: due.length === 0 ? null : due.filter(Boolean).length / due.length,
    shown: shown.filter(({ arm, items }) => arm === 'with' && items.length > 0).length,
    held_back: shown.filter(({ arm }) => arm === 'without').length,
    worth: renderLift(lift),
  }
}

/** Which phases were due in a session, and whether each ran. Only a task of a run begins with a brief. */
async function phasesOf(row: SessionRow, recalled: ReadonlySet<string | null>, deps: MeasureDeps) {
  const { store, learnedTo, tidiedAt } = deps
  const [last] = await store.events({ subject: row.id, kinds: RECORDED, tail: 1 })
  const ended = row.ended_at ?? 0
  const ran: Record<Phase, boolean> = {
    record: (last?.id ?? 0) <= learnedTo,
    organise: tidiedAt.organise >= ended,
    recall: recalled.has(row.task_id),
    improve: tidiedAt.improve >= ended,
  }
  const due = PHASES.filter(phase => phase !== 'recall' || row.options.run !== undefined)
  return new Map(due.map(phase => [phase, ran[phase]]))
}
