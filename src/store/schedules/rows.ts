import type { RunOptions } from '../../domain/runs/run.ts'
import type { ScheduleView } from '../../domain/schedules/schedule.ts'

/** A run that is to begin at a time, once or again and again. */
export interface ScheduleRow extends ScheduleView {
  options: RunOptions
  /** Cron, five fields; null for a single time. */
  pattern: string | null
}

export type SchedulesTable = Omit<ScheduleRow, 'target' | 'options'> & { target: string; options: string }
