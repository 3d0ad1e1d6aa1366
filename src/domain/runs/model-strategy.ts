/** How a run picks the model of its next attempt. A plain list and not zod: settings are read on the hot path (docs/adr/0005). */
export const MODEL_STRATEGIES = ['fixed', 'cost-optimized', 'escalate', 'plan-then-execute'] as const

export type ModelStrategy = (typeof MODEL_STRATEGIES)[number]
