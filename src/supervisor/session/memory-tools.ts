import { DAY_MS } from '../../base/clock.ts'
import type { ToolReply } from '../../domain/agent-tools.ts'
import type { Config } from '../../domain/config/settings.ts'
import {
  agentIn,
  type FACT_CATEGORIES,
  type MemoryReader,
  type MemoryRecord,
  newRecord,
  type RecordOf,
} from '../../domain/memory.ts'
import { workDirectory } from '../../domain/worktree.ts'
import type { MemoryBroker } from '../../memory/broker.ts'
import { erase, forget, recordsBehind } from '../../memory/forget.ts'
import { filesAbout } from '../memory/about-files.ts'
import type { SessionContext } from './context.ts'
import { mayCall, replyRefused } from './task-tools.ts'

/** The most that one session may tell. */
const MOST_REMEMBERED = 50
const MOST_FORGOTTEN = 20
/** What is not erased by then is erased by the upkeep: other sessions wait in the same process. */
const ERASE_MS = 20

/** `recall` */
export async function recallFor(query: string, call: SessionContext): Promise<ToolReply> {
  const { row } = call.live
  const known = await call.deps.memory.recall(row.project, query, whoOf(call))
  return { ok: true, text: known ?? 'Nothing is known about that.' }
}

interface NewMemory {
  text: string
  about: string
  kind?: 'fact' | 'anti_pattern' | undefined
  instead?: string | undefined
  category?: (typeof FACT_CATEGORIES)[number] | undefined
  files?: readonly string[] | undefined
  for?: 'project' | 'session' | 'me' | undefined
}

/** `remember`: the word of an agent, which never becomes a rule. */
export async function rememberFor(memory: NewMemory, call: SessionContext): Promise<ToolReply> {
  if (!mayCall('remember', MOST_REMEMBERED, call))
    return replyRefused(`${MOST_REMEMBERED} things are the most; put the rest into your report`)
  const { about, missing } = filesAbout(workDirectory(call.live.row), memory.text, memory.files)
  if (missing.length > 0) return replyRefused(`there is no file ${missing.join(', ')} in the project`)
  return use(call, (broker, reader, { share_after_days }) => {
    const record = recordOf({ ...memory, about_files: about }, { reader, share_after_days }, call)
    const { refused: wrong } = broker.write([record], { hidden: [...call.live.settings.secrets] })
    if (wrong[0]) return replyRefused(wrong[0].problem)
    const names = record.kind === 'fact' ? record.about.map(({ path }) => path) : []
    const until = names.length === 0 ? '' : ` It counts until one of these changes: ${names.join(', ')}.`
    return { ok: true, text: `Kept as ${record.id}.${until}` }
  })
}

/** `forget`: an agent takes back what it remembered in this session, and nothing else. */
export async function forgetFor(id: string, call: SessionContext): Promise<ToolReply> {
  if (!mayCall('forget', MOST_FORGOTTEN, call)) return replyRefused(`${MOST_FORGOTTEN} times are the most`)
  return use(call, (broker, reader) => {
    const own = recordsBehind(broker, id, reader).filter(record => isOwn(record, call))
    const gone = forget(
      broker,
      own.map(record => record.id),
    )
    erase(broker, { withinMs: ERASE_MS })
    return gone.length > 0
      ? { ok: true, text: `Forgotten: ${gone.join(', ')}.` }
      : replyRefused('there is nothing with that id that you told in this session; only a person forgets the rest')
  })
}

/** `memory_report` */
export async function reportFor(call: SessionContext): Promise<ToolReply> {
  return use(call, (broker, reader) => {
    const items = broker.find({ reader, limit: 200 }).map(({ item }) => item)
    const kinds = Map.groupBy(items, ({ kind }) => kind)
    const counts = [...kinds].map(([kind, all]) => `${kind}: ${all.length === 200 ? '200 or more' : all.length}`)
    const own = items.filter(({ records }) => records.some(id => isOwn(broker.record(id, reader), call)))
    const lines = own.map(({ id, text }) => `${id} ${text}`)
    return {
      ok: true,
      text: [
        counts.join(', ') || 'Nothing is known here yet.',
        ...(lines.length > 0 ? ['You told:', ...lines] : []),
      ].join('\n'),
    }
  })
}

function recordOf(
  {
    text,
    about,
    about_files,
    kind = 'fact',
    category = 'convention',
    instead,
    for: whom = 'project',
  }: NewMemory & {
    about_files: RecordOf<'fact'>['about']
  },
  { reader, share_after_days }: { reader: MemoryReader; share_after_days: number },
  { live }: SessionContext,
): MemoryRecord {
  const { row } = live
  const scope = {
    project: { scope: 'project', of: reader.projects[0] ?? '' },
    session: { scope: 'session', of: row.id },
    me: { scope: 'agent', of: agentIn(row.agent, reader.projects[0] ?? '') },
  } as const
  const base = {
    ...({
      time: reader.now,
      ...scope[whom],
      actor: 'agent',
      authority: 'agent',
      agent_id: row.agent,
      session: row.id,
    } as const),
    ...{ task: row.task_id, evidence: [`session:${row.id}`] },
    acl: {
      roles: [],
      shared_at: whom === 'me' && share_after_days > 0 ? reader.now + share_after_days * DAY_MS : null,
    },
  }
  if (kind === 'fact')
    return newRecord({
      ...base,
      kind,
      category,
      subject: about,
      text,
      source: `${row.agent} in ${row.id}`,
      about: about_files,
    })
  return newRecord({
    ...base,
    kind,
    trigger: { kind: 'failure', text: about },
    text,
    instead: instead ?? null,
    outcome: 'failure',
  })
}

function isOwn(record: MemoryRecord | undefined, { live }: SessionContext): boolean {
  return record?.actor === 'agent' && record.session === live.id
}

async function use(
  call: SessionContext,
  work: (broker: MemoryBroker, reader: MemoryReader, settings: Config['memory']) => ToolReply,
): Promise<ToolReply> {
  const reply = await call.deps.memory.use(call.live.row.project, whoOf(call), work)
  return reply ?? replyRefused('memory is switched off here, or cannot be used')
}

function whoOf({ live: { row } }: SessionContext) {
  return { agent: row.agent, session: row.id, caller: row.options }
}
