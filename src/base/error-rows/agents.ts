import type { ErrorRow } from './error-row.ts'

/** What goes wrong with the choice of an agent, and with its program. */
export const AGENT_ERRORS = {
  agent_unknown: {
    exit: 2,
    http: 400,
    says: 'No agent is called "{agent}" ({origin}). Nothing was started.',
    next: 'See which there are with: pcc agents list. A program of your own is named by its path, or stands in [agents.custom.<name>].',
  },
  agent_malformed: {
    exit: 2,
    http: 400,
    says: 'The agent "{agent}" ({origin}) cannot be understood: {problem}. Nothing was started.',
    next: 'Name a kind (pcc agents list), or write one command as in a shell, for example: --agent "gemini --model pro"',
  },
  agent_not_installed: {
    exit: 1,
    http: 400,
    says: '{agent} is not there: no program {command} is found {where}. Nothing was started.',
    next: 'How to get it: {install}. See what is there with: pcc agents doctor',
  },
  agent_not_held: {
    exit: 1,
    http: 409,
    says: '{agent} does not ask about every call, so it does not work alone: {why}. Nothing was started.',
    next: 'Stay with it (pcc start without --detach), or allow it by name in your own settings: pcc config set agents.unattended {name} (a command line gets its name in [agents.custom.<name>])',
  },
} as const satisfies Record<string, ErrorRow>
