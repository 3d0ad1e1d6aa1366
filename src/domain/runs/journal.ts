/** One attempt at a task that is over, as the journal keeps it. */
export interface JournalEntry {
  run_id: string
  project: string
  /** Which attempt of its run it was, from 1. */
  iteration: number
  task_id: string
  /** The task's attempt. */
  number: number
  /** The task's title then: it may be deleted by now. */
  title: string
  feature: string | null
  session_id: string
  outcome: 'done' | 'failed' | 'interrupted'
  /** Why it ended like that, where there is something to say. */
  reason: string | null
  /** Who did it, one after the other; none where its session is not kept any more. */
  agents: string[]
  /** What answered; null where nothing did. */
  model: string | null
  /** From its beginning to its end, with what it waited for. */
  duration_ms: number
  cost_usd: number
  /** Files that it changed, the first of them; paths from the project. */
  files: string[]
  /** How many more. */
  files_more: number
  /** What the agent wrote down, or its last words. */
  notes: string | null
  started_at: number
  ended_at: number
}

/** GET /journal */
export interface JournalPage {
  /** Newest first, or with words the best match first. */
  entries: JournalEntry[]
  /** How many there are in all that fit. */
  total: number
}
