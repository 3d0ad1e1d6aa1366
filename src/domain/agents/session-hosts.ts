/** Where an agent's process lives when it is not our own child: `tmux` is a terminal that a person can enter. */
export const SESSION_HOSTS = ['tmux'] as const
export type SessionHost = (typeof SESSION_HOSTS)[number]
