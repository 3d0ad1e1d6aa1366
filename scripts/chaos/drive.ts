import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AtDesk, type Open, Person, TOLD_MS } from './answering.ts'
import { RECORDING } from './faults/damage.ts'
import { allOf, openRead } from './history.ts'
import { taskText, workCommand } from './plan/scenario.ts'
import type { SessionPlan } from './plan/session-plan.ts'
import { isOfFullDisk } from './world/daemon-keeper.ts'
import type { RoundWorld } from './world/open-world.ts'

const LOOK_MS = 120
/** Several daemons may die under it, each of which takes half a minute to start on a machine that is busy with other things. */
const START_MS = 150_000
/** Nothing waits for longer than half a minute without a word of it in the store, or starts for that long; what does is stuck. */
const STUCK_MS = 100_000
/** Nor does something go round and round for ever. */
const LONGEST_MS = 1_800_000

interface Drive extends AtDesk {
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
    allowed_tools: session.tasks.flatMap(({ steps, second = [] }) =>
      [...steps, ...second].flatMap(step => (step.do === 'work' ? [`Bash(${workCommand(step)})`] : [])),
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
      if (status < 500) complaints.push(`a session was refused: ${JSON.stringify(reply)}`) // what is more is told as an error
    } catch {
      // The daemon died under the call; whether it has the session is looked up before it is asked again.
    }
    await sleep(LOOK_MS)
  }
  complaints.push(`session ${session.name} could not be started`)
}

function isKnown(project: string, world: RoundWorld): boolean {
  using db = openRead(world.paths.database)
  return db.prepare('select 1 from sessions where project = ?').get(project) !== undefined
}

/** Answers what is asked and keeps the daemon alive until all work is over. True where it came to that. */
export async function driveToEnd(drive: Drive, quietSince: () => number): Promise<boolean> {
  const { world, keeper, plan } = drive
  const person = new Person(drive)
  let overSince: number | undefined
  const end = Date.now() + LONGEST_MS
  let last = { event: 0, at: Date.now() }
  for (;;) {
    await keeper.up().catch(error => complain(drive, error))
    const state = stateOf(world)
    const refused = refusedIn(drive, state.failed)
    const isOver =
      state.over && refused.length === 0 && state.sessions >= plan.sessions.length && quietSince() < Date.now()
    overSince = isOver ? (overSince ?? Date.now()) : undefined
    if (overSince !== undefined && (state.notTold === 0 || Date.now() - overSince > TOLD_MS)) return true
    if (state.lastEvent !== last.event) last = { event: state.lastEvent, at: Date.now() }
    if (Date.now() - Math.max(quietSince(), last.at) > STUCK_MS || Date.now() > end) return state.over
    await person.look(state.open)
    if (existsSync(world.loginFile)) for (const each of refused) await tryAgain(each, drive)
    await sleep(LOOK_MS)
  }
}

interface Refused {
  id: string
  session: SessionPlan
}

/** Sessions that ended because the vendor refused their login, as was planned: the person has them tried again once it is renewed. */
function refusedIn({ plan, world }: Drive, failed: { id: string; project: string }[]): Refused[] {
  const planned = plan.sessions.filter(({ tasks }) =>
    tasks.some(({ steps }) => steps.some(step => step.do === 'login')),
  )
  return planned.flatMap(session =>
    failed.filter(({ project }) => project === world.projectOf(session)).map(({ id }) => ({ id, session })),
  )
}

/** As `pcc retry` does; what the daemon died under is asked for again at the next look. */
async function tryAgain({ id, session }: Refused, { keeper, world }: Drive): Promise<void> {
  await keeper.call('POST', `/sessions/${id}/retry`, { env: world.agentEnvOf(session) }).catch(() => undefined)
}

function complain({ complaints }: Drive, error: unknown): void {
  const told = String(error)
  if (!isOfFullDisk(told)) complaints.push(told)
}

function stateOf({ paths }: RoundWorld) {
  try {
    using db = openRead(paths.database)
    const tasks = allOf<{ state: string }>(db, 'select state from tasks')
    const ended = allOf<{ state: string }>(db, "select state from sessions where state <> 'ended'")
    const failed = allOf<{ id: string; project: string }>(
      db,
      "select id, project from sessions where ended_as = 'error'",
    )
    return {
      sessions: allOf(db, 'select id from sessions').length,
      failed,
      over: ended.length === 0 && tasks.every(({ state }) => OVER.has(state)) && allOf(db, NOT_TIDY).length === 0,
      open: allOf<Open>(db, "select number, kind, input, project from escalations where state = 'open'"),
      notTold: allOf(db, NOT_TOLD).length,
      lastEvent: allOf<{ id: number | null }>(db, 'select max(id) as id from events')[0]?.id ?? 0,
    }
  } catch {
    return { sessions: 0, over: false, open: [], failed: [], notTold: 0, lastEvent: 0 } // not there yet, or locked for a moment
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
