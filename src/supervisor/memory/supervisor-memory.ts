import { setImmediate } from 'node:timers/promises'
import type { AppPaths } from '../../base/app-paths.ts'
import type { Log } from '../../base/log.ts'
import type { StartSession } from '../../domain/api.ts'
import type { Assessment } from '../../domain/assessment.ts'
import { loadConfig } from '../../domain/config/load.ts'
import type { Config } from '../../domain/config/settings.ts'
import type { MemoryReader } from '../../domain/memory.ts'
import type { ReportedMemory } from '../../domain/report.ts'
import type { Task } from '../../domain/task.ts'
import type { MemoryBroker } from '../../memory/broker.ts'
import { trustedFile, trustStatus } from '../../policy/trust/trust.ts'
import type { Advice } from '../../policy/verdict/decide.ts'
import type { Store } from '../../store/store.ts'
import type { BriefSection } from '../brief/build-brief.ts'
import type { CodeSearch } from '../knowledge/code-search.ts'
import { settingsOfCaller } from '../session/settings.ts'
import { type Learner, openLearner } from './learner.ts'
import type { MeasuredPeriod } from './measure.ts'
import type { ProjectMemory } from './project-memory.ts'
import { armOf, memorySections, recalledText } from './recall.ts'

export interface SupervisorMemoryDeps {
  paths: AppPaths
  env: Record<string, string | undefined>
  store: Store
  log: Log
  /** Makes vectors of texts, where the person has set somebody up for that. */
  embed?: CodeSearch['embed']
}

/** Whose settings count, and who asks. */
export interface MemoryCaller {
  caller?: Pick<StartSession, 'config' | 'settings'>
  agent?: string | null
  role?: string | null
  session?: string | null
  /** It is for an agent that pcc did not start: no provider is waited for, and what is shown is recorded. */
  isHook?: boolean
}

/** What the daemon does with memory. Nothing here throws: without memory a prompt is only shorter. */
export interface SupervisorMemory extends AsyncDisposable {
  /** The section of a brief. With `isBegun`, what is shown, or held back from a task that runs without recall, is recorded. */
  forTask(task: Task, who: MemoryCaller & { isBegun?: boolean }): Promise<BriefSection[]>
  /** What is known about a text, as lines, for a brain or a hook. */
  recall(project: string, text: string, who?: MemoryCaller): Promise<string | undefined>
  /** Whether people allow calls like this one. Never for HIGH. */
  advise(
    project: string,
    tool: string,
    assessment: Assessment,
    who?: Pick<MemoryCaller, 'session'>,
  ): Promise<Advice | undefined>
  /** Does something with the memory of a project for an agent; undefined if the project has none. */
  use<T>(
    project: string,
    who: MemoryCaller,
    work: (broker: MemoryBroker, reader: MemoryReader, settings: Config['memory']) => T,
  ): Promise<T | undefined>
  /** Something has happened: it is learned from soon. */
  poke(): void
  /** Learns from all that has happened so far, and says what memory did in a period. Undefined if it cannot be used. */
  measure(period: MeasuredPeriod): Promise<ReportedMemory | undefined>
}

/** So much happens at once that it is not worth learning from each event by itself. */
const LEARN_AFTER_MS = 2_000
/** What outcomes change shows over days. */
const IMPROVE_EVERY_MS = 600_000
/** Memory that could not be opened may be busy: then it is tried again. */
const OPEN_AGAIN_MS = 60_000
/** How much of the upkeep a report does before it counts. */
const MOST_SLICES = 40
/** After this, the settings of a project are read again. */
const FRESH_MS = 2_000

interface OpenedMemory {
  memory: ProjectMemory
  learner: Learner
}

/** Opens memory on first use: a daemon without work needs none of it. */
export function openSupervisorMemory({ paths, env, store, log, embed }: SupervisorMemoryDeps): SupervisorMemory {
  const known = new Map<string, { at: number; settings: Promise<Config['memory']> }>()
  let opened: Promise<OpenedMemory | undefined> | undefined
  let timer: NodeJS.Timeout | undefined
  let learning: Promise<void> | undefined
  let isClosed = false
  const tidiedAt = { organise: 0, improve: 0 }

  const readSettings = async (project: string, caller: MemoryCaller['caller'] = {}) => {
    const own = settingsOfCaller(caller, { paths, env })
    const trusted = trustedFile(await trustStatus(own.paths, project))
    return (await loadConfig({ ...own, project, trusted })).config.memory
  }
  /** Only the first one waits for files: a verdict must not. */
  const ownSettings = (project: string) => {
    const before = known.get(project)
    if (before && performance.now() - before.at < FRESH_MS) return before.settings
    const settings = readSettings(project)
    settings.catch(() => known.delete(project))
    known.set(project, { at: performance.now(), settings: before ? settings.catch(() => before.settings) : settings })
    return before?.settings ?? settings
  }
  const open = () => {
    opened ??= openBoth().catch(error => {
      log.warn({ error }, 'memory cannot be used: pcc memory doctor')
      setTimeout(() => (opened = undefined), OPEN_AGAIN_MS).unref()
      return undefined
    })
    return opened
  }
  const openBoth = async (): Promise<OpenedMemory> => {
    const { openProjectMemory } = await import('./project-memory.ts')
    const memory = openProjectMemory(paths, Date.now, { embed })
    const learner = openLearner({
      ...{ store, paths, log },
      keysOf: async project => ((await ownSettings(project)).enabled ? memory.keysOf(project) : undefined),
      write: async records => void memory.write(records),
      knownFixes: memory.knownFixes,
      deadEnds: memory.deadEnds,
      recallOf: memory.recallOf,
    })
    return { memory, learner }
  }
  /** Does something with the memory of a project, if it has one. A failure is logged, and is no answer. */
  const withMemory = async <T>(
    use: (opened: OpenedMemory, settings: Config['memory']) => Promise<T>,
    { project, caller }: { project: string; caller?: MemoryCaller['caller'] },
  ): Promise<T | undefined> => {
    try {
      const settings = caller ? await readSettings(project, caller) : await ownSettings(project)
      const both = settings.enabled && !isClosed ? await open() : undefined
      return both && (await use(both, settings))
    } catch (error) {
      log.warn({ error, project }, 'memory could not be asked')
      return undefined
    }
  }
  const tidy = async (memory: ProjectMemory, { improves, data }: { improves: boolean; data: Config['data'] }) => {
    const isDone = await memory.tidy({ improves, retentionDays: data.episode_retention_days })
    tidiedAt.organise = Date.now()
    if (improves) tidiedAt.improve = Date.now()
    return isDone
  }
  /** True if nothing is left to learn from. */
  const learn = async (): Promise<boolean> => {
    const { config } = await loadConfig({ paths, env, project: null })
    const both = config.memory.enabled && !isClosed ? await open() : undefined
    if (!both) return true
    const isCaughtUp = await both.learner.catchUp()
    const improves = Date.now() - tidiedAt.improve >= IMPROVE_EVERY_MS
    const isTidy = await tidy(both.memory, { improves, data: config.data })
    let isEmbedded = true
    // A project may only switch vectors off.
    for (const project of config.memory.vectors ? both.memory.projects() : [])
      if ((await ownSettings(project)).vectors && (await both.memory.embed(project))) isEmbedded = false
    return isTidy && isCaughtUp && isEmbedded
  }
  const service: SupervisorMemory = {
    async forTask(task, { caller, agent = null, isBegun = false }) {
      const { project } = task
      const sections = await withMemory(
        async ({ memory, learner }, settings) => {
          await learner.catchUp()
          const arm = armOf(task.id, settings.holdout_share)
          const text = `${task.title}\n${task.description}`
          const items = await memory.recall({ project, text, agent, near: settings.vectors })
          if (isBegun) await memory.noteRecall(task, { arm, items, agent })
          return arm === 'with' ? memorySections(items) : []
        },
        { project, ...(caller && { caller }) },
      )
      return sections ?? []
    },
    recall: (project, text, { caller, isHook = false, ...who } = {}) =>
      withMemory(
        async ({ memory }, { vectors }) => {
          const items = await memory.recall({ project, text, ...who, near: vectors && !isHook })
          const warn = (error: unknown) => log.warn({ error, project }, 'what was recalled could not be recorded')
          if (isHook) await memory.noteShown(project, items, who).catch(warn)
          return items.length === 0 ? undefined : recalledText(items)
        },
        { project, ...(caller && { caller }) },
      ),
    advise: (project, tool, assessment, who) =>
      withMemory(({ memory }, { learning }) => memory.advise({ project, ...who }, tool, assessment, learning), {
        project,
      }),
    use: (project, { caller, agent = null, role = null, session = null }, work) =>
      withMemory(
        async ({ memory }, settings) => {
          const projects = await memory.keysOf(project)
          return work(memory.broker, { agent, role, session, projects, now: Date.now() }, settings)
        },
        { project, ...(caller && { caller }) },
      ),
    poke() {
      if (isClosed) return
      timer ??= setTimeout(() => {
        learning = learn()
          .catch(error => {
            log.warn({ error }, 'memory could not learn or tidy up; it tries again after the next event')
            return true
          })
          .then(isDone => {
            timer = undefined
            if (!isDone) service.poke()
          })
      }, LEARN_AFTER_MS).unref()
    },
    async measure(period) {
      const { config } = await loadConfig({ paths, env, project: null })
      const both = config.memory.enabled && !isClosed ? await open() : undefined
      if (!both) return undefined
      const { memory, learner } = both
      const isCaughtUp = await learner.catchUp(Number.POSITIVE_INFINITY)
      // Slice by slice, because verdicts wait in the same process.
      for (let left = isCaughtUp ? MOST_SLICES : 0; left > 0; left -= 1) {
        if (await tidy(memory, { improves: true, data: config.data })) break
        await setImmediate()
      }
      return memory.measure(period, { store, learnedTo: await learner.place(), tidiedAt })
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      clearTimeout(timer)
      await learning
      const both = await opened
      await both?.learner.catchUp()
      both?.memory[Symbol.dispose]()
    },
  }
  return service
}
