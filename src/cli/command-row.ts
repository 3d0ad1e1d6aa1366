import type { Command } from 'commander'

/** One command as the table knows it. */
export interface CommandRow {
  name: string
  group: string
  summary: string
  /** Imports the command's file and adds it. Only the command that is called is imported. */
  add(program: Command): Promise<void>
}
