/** How much is checked before a task is done; each checks what those before it do. */
export const GATE_PROFILES = ['quick', 'standard', 'deep'] as const
export type GateProfile = (typeof GATE_PROFILES)[number]
