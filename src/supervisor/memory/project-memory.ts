import { join } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { readRegularFileNow } from '../../base/files.ts'
import type { Assessment } from '../../domain/assessment.ts'
import {
  type MemoryReader,
  type MemoryRecord,
  newRecord,
  PATTERN_TYPE,
  type RecalledItem,
  type RecordOf,
  recordId,
  TEACHING_KINDS,
} from '../../domain/memory.ts'
import type { LearningRule } from '../../domain/option-values.ts'
import type { ReportedMemory } from '../../domain/report.ts'
import { nextAttemptOf, type Task } from '../../domain/task.ts'
import { isToolOnly } from '../../human/precedents.ts'
import { type BrokerOptions, type MemoryBroker, openMemory, type WriteResult } from '../../memory/broker.ts'
import { advise } from '../../memory/learn/advise.ts'
import { isNovel } from '../../memory/learn/importance.ts'
import { type PolicyValues, policyFor } from '../../memory/learn/policy.ts'
import { maintain } from '../../memory/maintain.ts'
import { type KeptKeys, projectKeys } from '../../memory/project-keys.ts'
import { recall } from '../../memory/recall.ts'
import type { Advice } from '../../policy/verdict/decide.ts'
import { git } from '../../workspace/git/git.ts'
import type { CodeSearch } from '../knowledge/code-search.ts'
import { blobOf, checkFacts } from './about-files.ts'
import type { DeadEnd, KnownFix } from './command-lessons.ts'
import { improve } from './improve.ts'
import { type MeasureDeps, type MeasuredPeriod, measureMemory } from './measure.ts'
import { type Arm, openEpisodeVectors } from './recall.ts'

export interface RecallQuery {
  project: string
  text: string
  agent?: string | null
  role?: string | null
  session?: string | null
  /** Also what is near by its meaning (`memory.vectors`). */
  near?: boolean
}

/** Memory as the supervisor and the hooks use it, by the paths of projects. */
export interface ProjectMemory extends Disposable {
  readonly broker: MemoryBroker
  keysOf(project: string): Promise<readonly [string, ...string[]]>
  /** The projects that somebody asked about. */
  projects(): string[]
  /** Makes vectors of some episodes of a project. True if there are more to make. */
  embed(project: string): Promise<boolean>
  write(records: readonly MemoryRecord[]): WriteResult
  recall(query: RecallQuery): Promise<RecalledItem[]>
  /** Records what an attempt was shown, or would have been. */
  noteRecall(task: Task, shown: { arm: Arm; items: readonly RecalledItem[]; agent: string | null }): Promise<void>
  /** Records what was shown to a conversation that pcc did not start, each item once. */
  noteShown(project: string, items: readonly RecalledItem[], to: Omit<RecallQuery, 'project' | 'text'>): Promise<void>
  recallOf(task: string, attempt: number): RecordOf<'recall'> | undefined
  knownFixes(key: string): readonly KnownFix[]
  deadEnds(key: string): readonly DeadEnd[]
  /** Whether people allow or refuse calls like this one; undefined if experience is not sure, and for HIGH. */
  advise(
    who: Pick<RecallQuery, 'project' | 'session'>,
    tool: string,
    assessment: Assessment,
    learning: LearningRule,
  ): Promise<Advice | undefined>
  /** Does a slice of the upkeep (`maintain`), and looks at the files that facts speak of; with `improves`, also what outcomes change. False if there is more to do. */
  tidy(options: { improves: boolean; retentionDays: number }): Promise<boolean>
  measure(period: MeasuredPeriod, deps: Omit<MeasureDeps, 'broker' | 'now'>): Promise<ReportedMemory>
}

/** How many lessons about commands are compared with what an agent runs, and answers with what it asks for. */
const MOST_PROCEDURES = 200

export function openProjectMemory(
  paths: Pick<AppPaths, 'memory'>,
  now = Date.now,
  { embed, ...options }: Pick<BrokerOptions, 'onlyReads'> & { embed?: CodeSearch['embed'] | undefined } = {},
): ProjectMemory {
  const broker = openMemory(paths, { lockWaitMs: LOCK_WAIT_MS, ...options })
  const vectors = embed && openEpisodeVectors(broker, embed)
  const keys = new Map<string, ReturnType<typeof projectKeys>>()
  /** The projects whose facts are to be compared with their files, and how far that is; the next one first. */
  const unchecked = new Map<string, number>()
  const keysOf = (project: string) => {
    if (!unchecked.has(project)) unchecked.set(project, 0)
    const found = keys.get(project) ?? findKeys(project, { in: paths.memory, onlyReads: options.onlyReads })
    keys.set(project, found)
    found.catch(() => keys.delete(project))
    return found
  }
  const readerOf = async ({
    project,
    agent = null,
    role = null,
    session = null,
  }: Omit<RecallQuery, 'text'>): Promise<MemoryReader> => {
    return { agent, role, session, projects: await keysOf(project), now: now() }
  }
  /** The projects of sessions, as far as something was learned in them. */
  const homes = new Map<string, string>()
  /** Looks at the files of some facts. False while there are more of them. */
  const checkFiles = async () => {
    const until = performance.now() + CHECK_MS
    for (const [project, from] of unchecked) {
      const about = { project, keys: await keysOf(project), from, now: now() }
      const { next } = checkFacts(broker, { ...about, withinMs: until - performance.now() })
      if (next > 0) unchecked.set(project, next)
      else unchecked.delete(project)
      if (performance.now() >= until) break
    }
    return unchecked.size === 0
  }
  /** The thresholds of each session, and what each conversation was shown. Thresholds are read when a session begins: nothing changes in the middle of one. */
  const sessions = new Map<string, { policy: PolicyValues; shown: Set<string> }>()
  const sessionOf = (reader: MemoryReader) => {
    const key = JSON.stringify([reader.session, reader.role])
    const known = sessions.get(key) ?? { policy: policyFor(broker.records('policy', reader), reader), shown: new Set() }
    if (reader.session !== null) sessions.delete(key)
    if (reader.session !== null) sessions.set(key, known)
    for (const oldest of [...sessions.keys()].slice(0, -MOST_SESSIONS)) sessions.delete(oldest)
    return known
  }
  return {
    broker,
    keysOf,
    projects: () => [...keys.keys()],
    embed: async project => (await vectors?.embed(project, (await keysOf(project))[0])) ?? false,
    write(records) {
      for (const { session, scope, of } of records) if (session !== null && scope === 'project') homes.set(session, of)
      return broker.write(records.map(record => markNovelty(record, broker)))
    },
    async recall(query) {
      const { project, text } = query
      const reader = await readerOf(query)
      broker.catchUp({ withinMs: SLICE_MS })
      const { policy } = sessionOf(reader)
      const lexical = text.trim() === '' ? [] : broker.find({ reader, text, policy, limit: MOST_FOUND })
      const near = query.near && vectors ? await vectors.addNear(lexical, { project, text, reader }) : lexical
      const patterns = broker.find({ reader, kinds: ['procedure'], type: PATTERN_TYPE, limit: MOST_PROCEDURES })
      const others = near.filter(({ item }) => item.type !== PATTERN_TYPE)
      const found = [...patterns.map(({ item }) => ({ item, score: PATTERN_SCORE })), ...others]
      const standing = broker.find({ reader, kinds: TEACHING_KINDS, limit: MOST_FOUND })
      return recall(
        found,
        standing.map(({ item }) => item),
        {
          ...{ text, now: reader.now, policy, projectText: readInstructions(project) },
          blobOf: path => blobOf(project, path),
        },
      )
    },
    async noteRecall(task, { arm, items, agent }) {
      const [of] = await keysOf(task.project)
      const attempt = nextAttemptOf(task)
      const about = {
        scope: 'project',
        of,
        actor: 'daemon',
        authority: 'gate',
        agent_id: agent,
        task: task.id,
      } as const
      const shown = { arm, items: items.map(({ id }) => id), evidence: [`attempt:${task.id}/${attempt}`] }
      broker.write([newRecord({ kind: 'recall', id: recallId(task.id, attempt), time: now(), ...about, ...shown })])
    },
    async noteShown(project, items, to) {
      const reader = await readerOf({ project, ...to })
      const { shown } = sessionOf(reader)
      const news = items.map(({ id }) => id).filter(id => !shown.has(id))
      if (news.length === 0) return
      const id = recordId(`recall ${reader.session} ${news.join(' ')}`, 'own-')
      broker.write([
        newRecord({
          ...{ kind: 'recall', id, time: now(), scope: 'project', of: reader.projects[0] ?? '', actor: 'daemon' },
          ...{ authority: 'gate', agent_id: reader.agent, role: reader.role, session: reader.session },
          ...{ arm: 'with', items: news, evidence: [`session:${reader.session}`] },
        }),
      ])
      for (const id of news) shown.add(id)
    },
    recallOf(task, attempt) {
      const record = broker.record(recallId(task, attempt), AS_PERSON)
      return record?.kind === 'recall' ? record : undefined
    },
    knownFixes(key) {
      const reader = { ...AS_PERSON, agent: null, projects: [key] }
      const found = broker.find({ reader, kinds: ['procedure'], type: 'command', limit: MOST_PROCEDURES })
      return found.flatMap(({ item: { trigger, action } }) => {
        return trigger?.kind === 'failure' && action !== null ? [{ trigger: trigger.text, action }] : []
      })
    },
    deadEnds(key) {
      const reader = { ...AS_PERSON, agent: null, projects: [key] }
      const found = broker.find({ reader, kinds: ['anti_pattern'], limit: MOST_PROCEDURES })
      return found.flatMap(({ item: { trigger, text, action: instead } }) => {
        const said = instead === null ? text : text.slice(0, -` Instead: ${instead}`.length)
        return trigger?.kind === 'failure' ? [{ trigger: trigger.text, text: said, instead }] : []
      })
    },
    async advise(who, tool, { risk, normalised }, learning) {
      if (risk !== 'MEDIUM' || isToolOnly(tool, normalised)) return undefined
      const reader = await readerOf(who)
      // A fork of a project shares its memory, but not what people allowed in it.
      const here = { ...reader, projects: reader.projects.slice(-1) }
      const found = broker.find({ reader: here, kinds: ['procedure'], type: 'permission', limit: MOST_PROCEDURES })
      const { policy } = sessionOf(reader)
      const question = { event_type: 'permission', text: normalised, risk, now: now(), policy }
      const learned = advise(
        found.map(({ item }) => item),
        { ...question, learning },
      )
      return learned && { approve: learned.action === 'allow', confidence: learned.confidence, reason: learned.reason }
    },
    measure: (period, deps) => measureMemory(period, { ...deps, broker, now: now() }),
    async tidy({ improves, retentionDays }) {
      const { isDone } = maintain(broker, { now: now(), retentionDays, withinMs: SLICE_MS })
      if (improves && isDone) improve(broker, { now: now(), projectOf: session => homes.get(session) })
      return isDone && (await checkFiles())
    },
    [Symbol.dispose]: () => broker[Symbol.dispose](),
  }
}

/** What a person wants to be remembered where a pattern fits comes first. */
const PATTERN_SCORE = 2
/** More sessions than work at once. */
const MOST_SESSIONS = 500
/** How many items recall chooses from. */
const MOST_FOUND = 100

/** Says of an episode whether the three most similar and the ten newest are different (`is_novel`): what is new is more important. */
function markNovelty(record: MemoryRecord, broker: MemoryBroker): MemoryRecord {
  if (record.kind !== 'episode') return record
  const reader = { ...AS_PERSON, agent: null, projects: [record.of], session: record.session }
  const similar = broker.find({ reader, text: record.context, kinds: ['episode'], limit: 3 })
  const recent = broker.find({ reader, kinds: ['episode'], limit: 10 })
  const items = [...similar, ...recent].map(({ item }) => item)
  return { ...record, is_novel: isNovel([record.context, record.decision, record.action].join(' '), items) }
}

/** The daemon itself looks something up by its id. */
const AS_PERSON: MemoryReader = { agent: 'person', role: null, session: null, projects: [], now: 0 }
const SLICE_MS = 50
const CHECK_MS = 20
/** Verdicts wait in the same process: what could not be written by then is written, or learned, the next time. */
const LOCK_WAIT_MS = 50

/** An attempt is shown something once: a brief that is made again for it is the same showing. */
function recallId(task: string, attempt: number): string {
  return recordId(`recall ${task}/${attempt}`, 'own-')
}

/** The keys of a project (`projectKeys`). */
export function findKeys(project: string, kept: KeptKeys): ReturnType<typeof projectKeys> {
  return projectKeys(project, (folder, args) => git(folder, args).catch(() => ({ ok: false, stdout: '' })), kept)
}

/** What the project's own files tell agents outranks memory. */
const INSTRUCTIONS = ['AGENTS.md', 'CLAUDE.md']
const MOST_BYTES = 64_000

function readInstructions(project: string): string {
  // A link could lead to a file of the person, and what is left out of a recall would tell an agent words of it.
  const texts = INSTRUCTIONS.map(name => readRegularFileNow(join(project, name), MOST_BYTES, { follow: false }))
  return texts.flatMap(text => text?.toString() ?? []).join('\n\n')
}
