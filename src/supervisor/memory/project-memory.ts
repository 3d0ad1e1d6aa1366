import { join } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { readRegularFileNow } from '../../base/files.ts'
import type { Assessment } from '../../domain/assessment.ts'
import {
  type MemoryReader,
  type MemoryRecord,
  newRecord,
  type RecalledItem,
  type RecordOf,
  recordId,
} from '../../domain/memory.ts'
import type { LearningRule } from '../../domain/option-values.ts'
import type { ReportedMemory } from '../../domain/report.ts'
import type { Task } from '../../domain/task.ts'
import { isToolOnly } from '../../human/precedents.ts'
import { type BrokerOptions, type MemoryBroker, openMemory, type WriteResult } from '../../memory/broker.ts'
import { advise } from '../../memory/learn/advise.ts'
import { isNovel } from '../../memory/learn/importance.ts'
import { type PolicyValues, policyFor } from '../../memory/learn/policy.ts'
import { maintain } from '../../memory/maintain.ts'
import { projectKeys } from '../../memory/project-keys.ts'
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
  session?: string | null
  /** A task or a conversation begins: from here on its thresholds stay as they are now. */
  begins?: boolean
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
  recallOf(task: string, attempt: number): RecordOf<'recall'> | undefined
  knownFixes(key: string): readonly KnownFix[]
  deadEnds(key: string): readonly DeadEnd[]
  /** Whether people allow or refuse calls like this one; undefined if experience is not sure, and for HIGH. */
  advise(project: string, tool: string, assessment: Assessment, learning: LearningRule): Promise<Advice | undefined>
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
    const found = keys.get(project) ?? projectKeys(project, readGit)
    keys.set(project, found)
    found.catch(() => keys.delete(project))
    return found
  }
  const readerOf = async ({
    project,
    agent = null,
    session = null,
  }: Omit<RecallQuery, 'text'>): Promise<MemoryReader> => {
    return { agent, role: null, session, projects: await keysOf(project), now: now() }
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
  /** The thresholds of each project, read where a task or a conversation begins: nothing changes in the middle of one. */
  const policies = new Map<string, PolicyValues>()
  const policyOf = (project: string, reader: MemoryReader, begins = false) => {
    const known = begins ? undefined : policies.get(project)
    const policy = known ?? policyFor(broker.records('policy', reader), reader)
    policies.set(project, policy)
    return policy
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
      const policy = policyOf(project, reader, query.begins)
      const lexical = text.trim() === '' ? [] : broker.find({ reader, text, policy, limit: MOST_FOUND })
      const found = query.near && vectors ? await vectors.addNear(lexical, { project, text, reader }) : lexical
      const standing = broker.find({ reader, kinds: ['procedure', 'anti_pattern', 'fact'], limit: MOST_FOUND })
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
      const attempt = task.attempt + 1
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
    async advise(project, tool, { risk, normalised }, learning) {
      if (risk !== 'MEDIUM' || isToolOnly(tool, normalised)) return undefined
      const reader = await readerOf({ project })
      // A fork of a project shares its memory, but not what people allowed in it.
      const here = { ...reader, projects: reader.projects.slice(-1) }
      const found = broker.find({ reader: here, kinds: ['procedure'], type: 'permission', limit: MOST_PROCEDURES })
      const policy = policyOf(project, reader)
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

async function readGit(project: string, args: readonly string[]) {
  return git(project, args).catch(() => ({ ok: false, stdout: '' }))
}

/** What the project's own files tell agents outranks memory. */
const INSTRUCTIONS = ['AGENTS.md', 'CLAUDE.md']
const MOST_BYTES = 64_000

function readInstructions(project: string): string {
  return INSTRUCTIONS.flatMap(name => readRegularFileNow(join(project, name), MOST_BYTES)?.toString() ?? []).join(
    '\n\n',
  )
}
