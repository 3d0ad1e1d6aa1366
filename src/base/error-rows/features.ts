import type { ErrorRow } from './error-row.ts'

/** What goes wrong on the way from an idea to a feature's tasks. */
export const FEATURE_ERRORS = {
  feature_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no feature "{name}" in {project}.',
    next: 'See those there are with: pcc feature list. Make it with: pcc feature create {name}',
  },
  feature_there: {
    exit: 2,
    http: 409,
    says: 'The feature "{name}" is there already, with its tasks.',
    next: 'Work through it with: pcc run {name}. Begin anew after: pcc feature delete {name}',
  },
  feature_begun: {
    exit: 2,
    http: 409,
    says: 'The feature "{name}" {has}: {flag} would be left out.',
    next: 'Go on with it: pcc feature create {name}. Begin anew after: pcc feature delete {name} --files',
  },
  feature_moved: {
    exit: 1,
    http: 409,
    says: 'The feature "{name}" was taken up or deleted by somebody else in the same moment.',
    next: 'See where it stands with: pcc feature show {name}',
  },
  feature_file: {
    exit: 2,
    http: 400,
    says: 'The file {path} cannot be used: {problem}.',
    next: 'Mend it, then go on with the same command.',
  },
  no_plan: {
    exit: 3,
    http: 409,
    says: 'The feature "{name}" has no plan with tasks: {path} names none.',
    next: 'Write a line for each task, as in "- [ ] Add the switch to the settings page", then: pcc feature create {name} --no-ai',
  },
  interview_needs_terminal: {
    exit: 2,
    http: 400,
    says: 'There is nobody to interview about "{name}": this is no terminal.',
    next: 'Write down what you want in a file, and: pcc feature create {name} --from <file>',
  },
  no_tools: {
    exit: 2,
    http: 403,
    says: 'There is no session that these tools belong to: {problem}.',
    next: 'pcc mcp is started by pcc for an agent; to look at it, name a session that is at work: pcc mcp --session <session>',
  },
} as const satisfies Record<string, ErrorRow>
