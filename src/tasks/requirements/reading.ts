import type { Requirements } from '../../domain/brain/requirements.ts'
import type { Problem } from './problems.ts'

/** What a file of requirements says, and which of its lines, from the one to the other, are its tasks. */
export interface Parsed {
  requirements: Requirements
  taskLines: [from: number, to: number][]
}

/** The same while it is read, with what is wrong. */
export interface Reading extends Parsed {
  problems: Problem[]
}

/** A reading of nothing. */
export function newReading(): Reading {
  return { requirements: { tasks: [], preferences: [], constraints: [] }, taskLines: [], problems: [] }
}
