import type { Task, TaskScope, TaskState } from '../../domain/task.ts'
import type { Tx } from '../database/tx.ts'

/** A task before it has a place in the order; one without an id is given one. */
export type NewTask = Omit<Task, 'id' | 'position'> & { id?: string }

/** Which tasks are meant; what is absent does not matter. */
export interface TaskFilter {
  session?: string | undefined
  states?: readonly TaskState[] | undefined
  project?: string | undefined
  feature?: string | undefined
  label?: string | undefined
  /** Somewhere in the title or the description, in letters of any size. */
  text?: string | undefined
  /** A task and everything that is a part of it. */
  under?: string | undefined
  limit?: number | undefined
}

/** One task comes after another. */
export interface Edge {
  task_id: string
  blocker_id: string
}

/** The one table of tasks, and which of them come after which. */
export interface Tasks {
  /** Throws `task_taken` where the id that was asked for is another one's. */
  insert(task: NewTask, tx: Tx): Promise<Task>
  get(id: string, tx?: Tx): Promise<Task | undefined>
  /** Those of these ids that there are, in no order. */
  of(ids: readonly string[], tx?: Tx): Promise<Task[]>
  /** Those whose id begins so, the first few. */
  beginning(prefix: string, tx?: Tx): Promise<Task[]>
  /** In the order of submission. */
  list(filter: TaskFilter, tx?: Tx): Promise<Task[]>
  /** The same, each as the JSON text that the API sends (`TaskView`). */
  listAsJson(filter: TaskFilter): Promise<string[]>
  /** The edges to what those tasks come after. */
  edges(filter: TaskFilter, tx?: Tx): Promise<Edge[]>
  /** How many there are in each state. */
  counts(scope: TaskScope, tx?: Tx): Promise<Partial<Record<TaskState, number>>>
  /** The ready one that a session is to take: highest priority, then oldest. */
  next(session: string, tx: Tx): Promise<Task | undefined>
  /** The same of a scope, among those that are in no session's own queue. */
  nextFree(scope: TaskScope, tx: Tx): Promise<Task | undefined>
  /** The first so many of them, in that order. */
  free(scope: TaskScope, limit: number, tx: Tx): Promise<Task[]>
  /** Those that a run holds, or whoever answers to that name. */
  held(by: { run?: string | undefined; owner?: string | undefined }, tx?: Tx): Promise<Task[]>
  /** The one that a session works on, or will go on with. */
  atWork(session: string, tx?: Tx): Promise<Task | undefined>
  /** Compare and swap on state and attempt of the task as it was read: nothing where it has moved since. */
  swap(task: Task, patch: Partial<Task>, tx: Tx): Promise<Task | undefined>
  /** True where the edge is new. */
  link(edge: Edge, tx: Tx): Promise<boolean>
  /** False where there was none. */
  unlink(edge: Edge, tx: Tx): Promise<boolean>
  blockersOf(ids: readonly string[], tx?: Tx): Promise<Edge[]>
  dependentsOf(id: string, tx?: Tx): Promise<Task[]>
  /** The direct parts of tasks. */
  childrenOf(ids: readonly string[], tx?: Tx): Promise<Task[]>
  /** Removes tasks and their edges. */
  remove(ids: readonly string[], tx: Tx): Promise<void>
}
