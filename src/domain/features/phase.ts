import * as z from 'zod'

/**
 * The way of a feature: `interview → spec → plan → tasks → ready`. A phase is what is being done, or what comes next where nobody is at
 * it. With an interview the spec is its last word; without one (`--from`) the spec is written from a file.
 */
export const FeaturePhase = z.enum(['interview', 'spec', 'plan', 'tasks', 'ready'])
export type FeaturePhase = z.infer<typeof FeaturePhase>
