import * as z from 'zod'

/** Where an agent's process lives when it is not our own child: `tmux` is a terminal that a person can enter. */
export const SessionHost = z.enum(['tmux'])
export type SessionHost = z.infer<typeof SessionHost>
