import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RECORDING } from './faults/damage.ts'
import { allOf, openRead } from './history.ts'
import { answerFor, taskText, workCommand } from './plan/scenario.ts'
import type { SessionPlan } from './plan/session-plan.ts'
import { type DaemonKeeper, isOfFullDisk } from './world/daemon-keeper.ts'
import type { RoundWorld } from './world/open-world.ts'

const LOOK_MS = 120
/** Several daemons may die under it. */
const START_MS = 45_000
/** Nothing waits for longer than half a minute without a word of it in the store; what does is stuck. */
const STUCK_MS = 50_000
/** Nor does something go round and round for ever. */
const LONGEST_MS = 300_000
/** People are told within this of what happened last. */
const TELL_MS = 6_000

interface Drive {
  world: RoundWorld
  keeper: DaemonKeeper
  sessions: SessionPlan[]
  run?: SessionPlan | undefined
  complaints: string[]
}

/** Starts a session the way a person does: again, if the daemon was gone before it said that it has it. */
export async function startSession(session: SessionPlan, { world, keeper, complaints }: Drive): Promise<void> {
  const project = world.projectOf(session)
  const [first] = session.tasks
  const body = {
    project,
    name: session.name,
    task: taskText(first?.token ?? ''),
    tasks: session.tasks.map(({ token }) => ({ text: taskText(token), priority: 0, after: [] })),
    allowed_tools: session.tasks.flatMap(({ steps }) =>
      steps.flatMap(step => (step.do === 'work' ? [`Bash(${workCommand(step)})`] : [])),
    ),
    env: world.agentEnvOf(session),
    ...(session.record && { record: join(project, RECORDING) }),
  }
  const end = Date.now() + START_MS
  while (Date.now() < end) {
    try {
      await keeper.up()
      if (isKnown(project, world)) return
      const { status, body: reply } = await keeper.call('POST', '/sessions', body)
      if (status === 201) return
      if (status < 500) complaints.push(`a session was refused: ${JSON.stringify(reply)}`)
    } catch {
      // The daemon died under the call; whether it has the session is looked up before it is asked again.
    }
    await sleep(LOOK_MS)
  }
  complaints.push(`session ${session.name} could not be started`)
}

function isKnown(project: string, world: RoundWorld): boolean {
  using db = openRead(world.places.database)
  return db.prepare('select 1 from sessions where project = ?').get(project) !== undefined
}

/** Answers what is asked and keeps the daemon alive until all work is over. True where it came to that. */
export async function driveToEnd(drive: Drive, quietSince: () => number): Promise<boolean> {
  const { world, keeper, sessions } = drive
  let overSince: number | undefined
  const end = Date.now() + LONGEST_MS
  let last = { event: 0, at: Date.now() }
  for (;;) {
    await keeper.up().catch(error => complain(drive, error))
    const state = stateOf(world)
    const isOver = state.over && state.sessions >= sessions.length && quietSince() < Date.now()
    overSince = isOver ? (overSince ?? Date.now()) : undefined
    if (overSince !== undefined && (state.notTold === 0 || Date.now() - overSince > TELL_MS)) return true
    if (state.lastEvent !== last.event) last = { event: state.lastEvent, at: Date.now() }
    if (Date.now() - Math.max(quietSince(), last.at) > STUCK_MS || Date.now() > end) return state.over
    for (const open of state.open) await answer(open, drive)
    await sleep(LOOK_MS)
  }
}

function complain({ complaints }: Drive, error: unknown): void {
  const told = String(error)
  if (!isOfFullDisk(told)) complaints.push(told)
}

interface Open {
  number: number
  kind: string
  input: string
  project: string
}

function stateOf({ places }: RoundWorld) {
  try {
    using db = openRead(places.database)
    const tasks = allOf<{ state: string }>(db, 'select state from tasks')
    const ended = allOf<{ state: string }>(db, "select state from sessions where state <> 'ended'")
    return {
      sessions: allOf(db, 'select id from sessions').length,
      over: ended.length === 0 && tasks.every(({ state }) => OVER.has(state)) && allOf(db, NOT_TIDY).length === 0,
      open: allOf<Open>(db, "select number, kind, input, project from escalations where state = 'open'"),
      notTold: allOf(db, NOT_TOLD).length,
      lastEvent: allOf<{ id: number | null }>(db, 'select max(id) as id from events')[0]?.id ?? 0,
    }
  } catch {
    return { sessions: 0, over: false, open: [], notTold: 0, lastEvent: 0 } // not there yet, or locked for a moment
  }
}

/** Rows that wait to be told, and ends for which there is no row yet. */
const NOT_TOLD = `select id from outbox where state = 'waiting'
  union all select id from events where kind = 'session.ended' and json_extract(body, '$.status') = 'completed'
    and not exists (select 1 from outbox where dedup_key = 'ended:' || events.id)
    and exists (select 1 from sessions where id = events.subject and project not like '%/run')
  union all select id from events where kind = 'run.ended'
    and not exists (select 1 from outbox where dedup_key = 'run:' || events.id)`

/** Runs that are not over, and what landed and is not tidied up: nothing tells of that. */
const NOT_TIDY = `select id from runs where state <> 'ended'
  union all select id from merges where state = 'merged' and cleaned_at is null`

const OVER = new Set(['done', 'failed', 'cancelled'])

/** As a person at `pcc respond`: a question gets its answer, a failure is tried again. */
async function answer({ number, kind, input, project }: Open, { world, keeper, sessions, run }: Drive): Promise<void> {
  const name = basename(project)
  const session = [...sessions, ...(run ? [run] : [])].find(each => each.name === name)
  if (!session) return
  const token = /Which hue for ([\w-]+)\?/.exec(input)?.[1] ?? ''
  const said = kind === 'question' ? { answer: answerFor(token) } : { verdict: kind === 'error' ? 'allow' : 'deny' }
  const env = world.agentEnvOf(session)
  await keeper.call('POST', `/escalations/${number}/answer`, { ...said, env }).catch(() => undefined) // asked again at the next look
}
