import type { JournalEntry } from '../domain/attempt.ts'
import type { Evidence, NewEvidence } from '../domain/evidence.ts'
import type { Merge, MergeState } from '../domain/merge.ts'
import type { Task, TaskScope, TaskState } from '../domain/task.ts'
import type { WorktreeRow, WorktreeState } from '../domain/worktree.ts'
import type { Tx } from './database.ts'
import type {
  AttemptRow,
  EvidenceRound,
  FeatureRow,
  GateResult,
  JournalColumns,
  RunRow,
  ScheduleRow,
} from './tables.ts'

/** A task before it has its position; one without an id gets one. */
export type NewTask = Omit<Task, 'id' | 'position'> & { id?: string }

/** Selects tasks; absent fields do not restrict. */
export interface TaskFilter {
  /** At most a few hundred. */
  ids?: readonly string[] | undefined
  session?: string | undefined
  states?: readonly TaskState[] | undefined
  project?: string | undefined
  feature?: string | undefined
  label?: string | undefined
  /** A text in the title or the description, in upper or lower case. */
  text?: string | undefined
  /** A task and all its parts. */
  under?: string | undefined
  /** Only tasks that runs work through: none of a session's own queue. */
  ofRuns?: boolean | undefined
  /** Only tasks behind this position. */
  after?: number | undefined
  limit?: number | undefined
}

/** A dependency: one task comes after another. */
export interface TaskEdge {
  task_id: string
  blocker_id: string
}

/** Tasks and their dependencies. */
export interface TaskStore {
  /** Throws `task_taken` if the requested id is in use. */
  insert(task: NewTask, tx: Tx): Promise<Task>
  get(id: string, tx?: Tx): Promise<Task | undefined>
  /** The tasks of all projects that have this name, oldest first. */
  named(alias: string, tx?: Tx): Promise<Task[]>
  /** The tasks with these ids that exist, in no order. */
  of(ids: readonly string[], tx?: Tx): Promise<Task[]>
  /** The first few tasks whose id begins with the prefix. */
  beginning(prefix: string, tx?: Tx): Promise<Task[]>
  /** In the order of submission. */
  list(filter: TaskFilter, tx?: Tx): Promise<Task[]>
  /** Like `list`, as the JSON that the API sends: a `TaskView` on each line, with commas between them. */
  listAsJson(filter: TaskFilter, tx?: Tx): Promise<Uint8Array>
  /** One task as the JSON that the API sends; the statement is built once, because a program may ask thousands of times a second. */
  asJson(id: string, tx?: Tx): Promise<string | undefined>
  /** The edges from these tasks to the tasks they wait for. */
  edges(filter: TaskFilter, tx?: Tx): Promise<TaskEdge[]>
  /** How many tasks are in each state. */
  counts(scope: TaskScope, tx?: Tx): Promise<Partial<Record<TaskState, number>>>
  countsByProject(): Promise<Map<string, Partial<Record<TaskState, number>>>>
  /** The ready task that a session takes next: highest priority, then oldest. */
  next(session: string, tx: Tx): Promise<Task | undefined>
  /** The next ready task of a scope that is in no session's queue. */
  nextFree(scope: TaskScope, tx: Tx): Promise<Task | undefined>
  /** The first such tasks, in the same order. */
  free(scope: TaskScope, limit: number, tx: Tx): Promise<Task[]>
  /** The tasks held by a run or by a lease owner. */
  held(by: { run?: string | undefined; owner?: string | undefined }, tx?: Tx): Promise<Task[]>
  /** The task that a session works on or will resume. */
  atWork(session: string, tx?: Tx): Promise<Task | undefined>
  /** Compare-and-swap on the state and attempt of the task as it was read; returns undefined if it has moved since. */
  swap(task: Task, patch: Partial<Task>, tx: Tx): Promise<Task | undefined>
  /** Returns true if the edge is new. */
  link(edge: TaskEdge, tx: Tx): Promise<boolean>
  /** Returns false if there was no such edge. */
  unlink(edge: TaskEdge, tx: Tx): Promise<boolean>
  blockersOf(ids: readonly string[], tx?: Tx): Promise<TaskEdge[]>
  dependentsOf(id: string, tx?: Tx): Promise<Task[]>
  /** The direct parts of tasks. */
  childrenOf(ids: readonly string[], tx?: Tx): Promise<Task[]>
  /** Removes tasks and their edges. */
  remove(ids: readonly string[], tx: Tx): Promise<void>
}

export interface RunFilter {
  project?: string | undefined
  open?: boolean | undefined
  /** Only those that had not ended by this time. */
  since?: number | undefined
  limit?: number | undefined
}

/** Runs, and the attempts they made. */
export interface RunStore {
  insert(row: RunRow, tx: Tx): Promise<void>
  update(id: string, patch: Partial<RunRow>, tx?: Tx): Promise<void>
  get(id: string, tx?: Tx): Promise<RunRow | undefined>
  /** Newest first. */
  list(filter?: RunFilter, tx?: Tx): Promise<RunRow[]>
  count(filter?: RunFilter): Promise<number>
  /** Finds a run by its id or a unique beginning of it. Throws `run_unknown` or `run_ambiguous`. */
  resolve(ref: string): Promise<RunRow>
  begin(attempt: AttemptRow, tx: Tx): Promise<void>
  /** Closes an open attempt; returns false if it is not open. */
  end(
    attempt: Pick<AttemptRow, 'task_id' | 'number'>,
    patch: Partial<AttemptRow> & Partial<JournalColumns>,
    tx: Tx,
  ): Promise<boolean>
  /** The runs with attempts that have no outcome yet, whether the runs themselves are open or not. */
  withOpenAttempts(): Promise<string[]>
  /** How many tasks of a scope are done but unverified. */
  unverified(scope: TaskScope): Promise<number>
  /** What became of the work of those attempts of a run that are done and had a worktree. */
  doneAttempts(run: string): Promise<DoneAttempt[]>
  /** What the newest attempts that are done have cost, by the model they were started with and the one that answered. */
  costs(): Promise<ModelCost[]>
  /** Attempts in the order in which they were started. */
  attempts(of: { run?: string; task?: string; session?: string }, tx?: Tx): Promise<AttemptRow[]>
}

export interface DoneAttempt {
  task_id: string
  number: number
  /** `nothing`: it was merged, but there was no change. */
  as: 'merged' | 'unmerged' | 'nothing'
}

export interface ModelCost {
  /** Null if the agent took its own. */
  model: string | null
  /** The full name of the model that answered, if it is stored. */
  answered: string | null
  attempts: number
  /** The mean of one attempt. */
  cost_usd: number
}

/** Scheduled runs. */
export interface ScheduleStore {
  insert(row: ScheduleRow, tx: Tx): Promise<void>
  /**
   * Changes a row that still waits for the same time; returns false if another change came first. Every ending and every
   * firing goes through here, so that one time never fires twice.
   */
  move(row: Pick<ScheduleRow, 'id' | 'due_at'>, patch: Partial<ScheduleRow>, tx: Tx): Promise<boolean>
  get(id: string, tx?: Tx): Promise<ScheduleRow | undefined>
  /** Waiting schedules first, soonest first; then those that are over, newest first. */
  list(filter?: { project?: string | undefined; waiting?: boolean }, tx?: Tx): Promise<ScheduleRow[]>
}

export interface JournalQuery {
  project?: string | undefined
  run?: string | undefined
  task?: string | undefined
  /** Only attempts that ended at this time or later. */
  since?: number | undefined
  /** Only entries with all, or any, of these words or beginnings of words; the best match first. */
  words?: { list: readonly string[]; need: 'all' | 'any' } | undefined
  limit: number
}

/** The journal of attempts that are over. */
export interface JournalStore {
  /** Newest first; with words, the best match first. */
  entries(query: JournalQuery, tx?: Tx): Promise<RankedJournalEntry[]>
  /** How many entries match, without the limit. */
  count(query: Omit<JournalQuery, 'limit'>, tx?: Tx): Promise<number>
  /** The files that attempts at these tasks have changed. */
  filesOf(tasks: readonly string[], tx?: Tx): Promise<{ task_id: string; files: string[] }[]>
}

/** `rank` says how well the words match, the lowest being the best; 0 without words. */
export type RankedJournalEntry = JournalEntry & { rank: number }

/** Features and their phases. */
export interface FeatureStore {
  insert(row: FeatureRow, tx: Tx): Promise<void>
  update(id: string, patch: Partial<FeatureRow>, tx?: Tx): Promise<void>
  get(id: string, tx?: Tx): Promise<FeatureRow | undefined>
  named(project: string, name: string, tx?: Tx): Promise<FeatureRow | undefined>
  /** Newest first. `open` selects those that are not ready. */
  list(filter?: { project?: string | undefined; open?: boolean }): Promise<FeatureRow[]>
  /** The feature names that occur in the tasks of a project. */
  inTasks(project: string): Promise<string[]>
  remove(id: string, tx: Tx): Promise<void>
}

export type WorktreeKey = Pick<WorktreeRow, 'task' | 'attempt'>

export interface WorktreeFilter {
  project?: string | undefined
  task?: string | undefined
  repository?: string | undefined
  states?: readonly WorktreeState[] | undefined
}

/** Worktrees, one row for each attempt that had one. */
export interface WorktreeStore {
  /** Inserts the row, or replaces the one of the same attempt. */
  put(row: WorktreeRow, tx?: Tx): Promise<void>
  update(key: WorktreeKey, patch: Partial<Omit<WorktreeRow, 'task' | 'attempt'>>, tx?: Tx): Promise<void>
  get(key: WorktreeKey, tx?: Tx): Promise<WorktreeRow | undefined>
  /** Newest first. */
  list(filter?: WorktreeFilter, tx?: Tx): Promise<WorktreeRow[]>
}

/** Results of gates, bound to git trees. */
export interface EvidenceStore {
  /** Stores the results of one verification, replacing those that an interrupted one of the same round left. */
  put(round: EvidenceRound, rows: readonly NewEvidence[], tx: Tx): Promise<void>
  /** In the order in which the results came. */
  list(of: { task: string; attempt?: number | undefined; round?: number | undefined }, tx?: Tx): Promise<Evidence[]>
  /** The results of a task's newest verification. */
  latest(task: string, tx?: Tx): Promise<Evidence[]>
}

/** Cached results of commands. The key decides what counts as the same. */
export interface GateResultStore {
  get(key: string): Promise<GateResult | undefined>
  /** Replaces an older result. */
  put(result: GateResult): Promise<void>
  /** Removes older results. */
  prune(before: number): Promise<void>
}

export type NewMerge = Omit<Merge, 'id'>

/** Identifies a merge queue: a repository, by the git directory that its worktrees share, and a target branch. */
export interface MergeQueueKey {
  repository: string
  target: string
}

export interface MergeFilter {
  project?: string | undefined
  task?: string | undefined
  queue?: MergeQueueKey | undefined
  states?: readonly MergeState[] | undefined
  /** At most this many, the newest ones. */
  limit?: number | undefined
}

/** Merges of attempts into their target branches. */
export interface MergeStore {
  insert(row: NewMerge, tx: Tx): Promise<Merge>
  /** Changes a row that is still in that state; returns false if another change came first. */
  move(row: Pick<Merge, 'id' | 'state'>, patch: Partial<Omit<Merge, 'id'>>, tx: Tx): Promise<boolean>
  get(id: number, tx?: Tx): Promise<Merge | undefined>
  /** The merge of a task that is not over. */
  open(task: string, tx?: Tx): Promise<Merge | undefined>
  /** In the order in which they were added. */
  list(filter?: MergeFilter, tx?: Tx): Promise<Merge[]>
  /** The queues that have a merge that is not over. */
  queues(): Promise<MergeQueueKey[]>
  /** Merges that landed and whose branch or worktree may still exist. */
  toClean(): Promise<Merge[]>
}
