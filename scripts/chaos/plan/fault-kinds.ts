/** The kinds of faults, with their descriptions for the table. */
export const FAULTS = {
  'kill-daemon': 'kill -9 of the daemon at a random moment',
  'crash-point': 'the daemon dies at a named step',
  'stop-clean': 'the daemon gets SIGTERM and is started anew',
  'kill-agent': 'kill -9 of an agent',
  'kill-tool': 'kill -9 of a tool at work',
  'stop-agent': 'SIGSTOP of an agent, SIGCONT a moment later',
  'stop-agent-for-good': 'SIGSTOP of an agent, then kill -9 of the daemon',
  'stop-daemon': 'SIGSTOP of the daemon, SIGCONT or kill -9 a moment later',
  'vendor-storm': '429, 529, 500, reset and stall from the vendor',
  'disk-full': 'the disk is full for a moment',
  'clock-jump': 'the clock of daemon and agents jumps',
  'damaged-log': 'killed; the last line of its log and of recordings is half a line',
  'cut-checkpoint': 'killed; the newest checkpoints are cut short',
  'lost-transcript': "killed; an agent's transcript is gone",
  'two-daemons': 'killed; two daemons are started at once',
  'kill-parent': 'kill -9 of the parent that keeps the daemon, or of both',
  failover: 'the vendor of an agent refuses, and another agent takes its task over',
  'login-gone': 'the vendor refuses the login of a session for a while',
  'dirty-checkout': "a person's change lies uncommitted in the checkout of a run for a while",
  'remote-gone': 'the remote of the project of a run is gone',
} as const

export type FaultKind = keyof typeof FAULTS

export const FAULT_KINDS = Object.keys(FAULTS) as FaultKind[]
