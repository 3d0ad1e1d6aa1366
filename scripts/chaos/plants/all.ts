import { OF_RUNS } from './of-runs.ts'
import { OF_SESSIONS } from './of-sessions.ts'
import { OF_THE_MACHINE } from './of-the-machine.ts'
import type { Plant } from './plant.ts'

/** Every mistake that can be planted. */
export const PLANTS: readonly Plant[] = [...OF_SESSIONS, ...OF_THE_MACHINE, ...OF_RUNS]
