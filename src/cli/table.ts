import type { CommandRow } from './context.ts'

const WORK = 'Work:'
const WATCH = 'Watch:'
const DECIDE = 'Decide:'
const STEER = 'Steer:'
const TRY = 'Check and try:'
/** The nouns under which all other commands are listed. */
const REST = 'Everything else:'

/**
 * All commands, in the order of the help. The help of `pcc` lists those that people type every day, and the nouns. A row with a
 * noun is listed under that: `pcc session pause` and `pcc pause` are the same command.
 */
export const COMMANDS: CommandRow[] = [
  {
    name: 'init',
    group: WORK,
    summary: 'Set a project up: recognise it, write settings and skills',
    add: async program => (await import('./commands/init/init.ts')).addInitCommand(program),
  },
  {
    name: 'start',
    group: WORK,
    noun: 'session',
    summary: 'Start a supervised session of a coding agent',
    add: async program => (await import('./commands/start.ts')).addStartCommand(program),
  },
  {
    name: 'run',
    group: WORK,
    summary: 'Work through tasks, a fresh agent for each',
    add: async program => (await import('./commands/run/run.ts')).addRunCommand(program),
  },
  {
    name: 'task',
    group: WORK,
    summary: 'Write tasks down, put them in order, review their work',
    add: async program => (await import('./commands/task/task.ts')).addTaskCommand(program),
  },
  {
    name: 'feature',
    group: WORK,
    summary: 'Turn an idea into tasks: interview, spec, plan',
    add: async program => (await import('./commands/feature.ts')).addFeatureCommand(program),
  },
  {
    name: 'list',
    group: WATCH,
    noun: 'session',
    summary: 'List the open sessions',
    add: async program => (await import('./commands/list.ts')).addListCommand(program),
  },
  {
    name: 'attach',
    group: WATCH,
    noun: 'session',
    summary: 'Watch a session live and answer what it asks',
    add: async program => (await import('./commands/attach.ts')).addAttachCommand(program),
  },
  {
    name: 'report',
    group: WATCH,
    summary: 'Show what happened while you were away',
    add: async program => (await import('./commands/report.ts')).addReportCommand(program),
  },
  {
    name: 'pending',
    group: DECIDE,
    summary: 'List what waits for your decision',
    add: async program => (await import('./commands/pending.ts')).addPendingCommand(program),
  },
  {
    name: 'respond',
    group: DECIDE,
    summary: 'Answer what waits for your decision',
    add: async program => (await import('./commands/respond.ts')).addRespondCommand(program),
  },
  {
    name: 'inbox',
    group: DECIDE,
    summary: 'Work through everything that waits, by keys',
    add: async program => (await import('./commands/inbox/inbox.ts')).addInboxCommand(program),
  },
  {
    name: 'resume',
    group: STEER,
    noun: 'session',
    summary: 'Resume a paused, stopped or failed session',
    add: async program => (await import('./commands/resume.ts')).addResumeCommand(program),
  },
  {
    name: 'stop',
    group: STEER,
    noun: 'session',
    summary: 'Stop a session now',
    add: async program => (await import('./commands/stop.ts')).addStopCommand(program),
  },
  {
    name: 'doctor',
    group: TRY,
    summary: 'Check everything that pcc needs, and mend it',
    add: async program => (await import('./commands/doctor.ts')).addDoctorCommand(program),
  },
  {
    name: 'demo',
    group: TRY,
    summary: 'Watch a real supervised session, with no account and no network',
    add: async program => (await import('./commands/demo.ts')).addDemoCommand(program),
  },
  {
    name: 'session',
    group: REST,
    summary: 'Steer sessions',
    add: async program =>
      void program.command('session').description('Control sessions: watch, pause, resume, stop, hand over'),
  },
  {
    name: 'rules',
    group: REST,
    summary: 'Say what is always allowed, asked about or refused; explain a decision',
    add: async program => (await import('./commands/rules.ts')).addRulesCommand(program),
  },
  {
    name: 'agents',
    group: REST,
    summary: 'List the agents, log in, see how full your accounts are',
    add: async program => (await import('./commands/agents.ts')).addAgentsCommand(program),
  },
  {
    name: 'hooks',
    group: REST,
    summary: 'Judge the calls of agents that you start yourself',
    add: async program => (await import('./commands/hooks/hooks.ts')).addHooksCommand(program),
  },
  {
    name: 'index',
    group: REST,
    summary: 'Index the code of a project; search it, see what is connected',
    add: async program => (await import('./commands/code/index-code.ts')).addIndexCommand(program),
  },
  {
    name: 'memory',
    group: REST,
    summary: 'See, correct and take along what was learned',
    add: async program => (await import('./commands/memory/memory.ts')).addMemoryCommand(program),
  },
  {
    name: 'config',
    group: REST,
    summary: 'Show and change settings, trust a project, notifications, completion',
    add: async program => (await import('./commands/config.ts')).addConfigCommand(program),
  },
  {
    name: 'daemon',
    group: REST,
    summary: 'Start, stop and look at the background process',
    add: async program => (await import('./commands/daemon.ts')).addDaemonCommand(program),
  },
  {
    name: 'api',
    group: REST,
    summary: 'Keys for other programs, and what they and you changed',
    add: async program => (await import('./commands/api.ts')).addApiCommand(program),
  },
  {
    name: 'service',
    noun: 'daemon',
    summary: 'Let the system start the daemon with the machine and keep it up',
    add: async program => (await import('./commands/service/service-commands.ts')).addServiceCommand(program),
  },
  {
    name: 'docs',
    group: REST,
    summary: 'Read a page of the documentation',
    add: async program => (await import('./commands/docs.ts')).addDocsCommand(program),
  },
  {
    name: 'add',
    noun: 'session',
    summary: 'Add a task to a session’s queue',
    add: async program => (await import('./commands/add.ts')).addAddCommand(program),
  },
  {
    name: 'status',
    noun: 'session',
    summary: 'Show one session in detail',
    add: async program => (await import('./commands/status.ts')).addStatusCommand(program),
  },
  {
    name: 'logs',
    noun: 'session',
    summary: 'Show what happened in a session',
    add: async program => (await import('./commands/logs.ts')).addLogsCommand(program),
  },
  {
    name: 'pause',
    noun: 'session',
    summary: 'Pause a session after the tool in flight',
    add: async program => (await import('./commands/pause.ts')).addPauseCommand(program),
  },
  {
    name: 'retry',
    noun: 'session',
    summary: 'Try a session again that failed',
    add: async program => (await import('./commands/resume.ts')).addRetryCommand(program),
  },
  {
    name: 'takeover',
    noun: 'session',
    summary: 'Take the terminal of a session in tmux',
    add: async program => (await import('./commands/takeover.ts')).addTakeoverCommand(program),
  },
  {
    name: 'handback',
    noun: 'session',
    summary: 'Give a terminal back that you took',
    add: async program => (await import('./commands/takeover.ts')).addHandbackCommand(program),
  },
  {
    name: 'checkpoints',
    noun: 'session',
    summary: 'Show where a session stood when it was interrupted',
    add: async program => (await import('./commands/checkpoints.ts')).addCheckpointsCommand(program),
  },
  {
    name: 'diff',
    noun: 'task',
    summary: 'Show what was changed for a task',
    add: async program => (await import('./commands/diff.ts')).addDiffCommand(program),
  },
  {
    name: 'review',
    noun: 'task',
    summary: 'Look at work before it is merged, and let it through',
    add: async program => (await import('./commands/review.ts')).addReviewCommand(program),
  },
  {
    name: 'journal',
    noun: 'task',
    summary: 'Read what became of every attempt, or search it',
    add: async program => (await import('./commands/journal.ts')).addJournalCommand(program),
  },
  {
    name: 'notes',
    noun: 'task',
    summary: 'Read and write what is worth knowing about a project',
    add: async program => (await import('./commands/notes.ts')).addNotesCommand(program),
  },
  {
    name: 'gates',
    noun: 'task',
    summary: 'List, detect and run the gates',
    add: async program => (await import('./commands/gates.ts')).addGatesCommand(program),
  },
  {
    name: 'merge',
    noun: 'task',
    summary: 'List, retry and abort merges',
    add: async program => (await import('./commands/merge.ts')).addMergeCommand(program),
  },
  {
    name: 'worktree',
    noun: 'task',
    summary: 'List, archive and restore worktrees',
    add: async program => (await import('./commands/worktree.ts')).addWorktreeCommand(program),
  },
  {
    name: 'search',
    noun: 'index',
    summary: 'Find the code and the notes that some words are about',
    add: async program => (await import('./commands/code/search.ts')).addSearchCommand(program),
  },
  {
    name: 'graph',
    noun: 'index',
    summary: 'Show what is connected with a file or a definition',
    add: async program => (await import('./commands/code/graph.ts')).addGraphCommand(program),
  },
  {
    name: 'runs',
    noun: 'run',
    nameThere: 'list',
    summary: 'List scheduled, current and past runs',
    add: async program => (await import('./commands/runs.ts')).addRunsCommand(program),
  },
  {
    name: 'budget',
    noun: 'run',
    summary: 'Show what is spent and left, and what stops when',
    add: async program => (await import('./commands/budget.ts')).addBudgetCommand(program),
  },
  {
    name: 'explain',
    noun: 'rules',
    summary: 'Show what the policy makes of a command, and why',
    add: async program => (await import('./commands/explain.ts')).addExplainCommand(program),
  },
  {
    name: 'answers',
    noun: 'rules',
    summary: 'See and forget what you answered before',
    add: async program => (await import('./commands/answers.ts')).addAnswersCommand(program),
  },
  {
    name: 'quota',
    noun: 'agents',
    summary: 'Show how full your accounts are, and hold work back',
    add: async program => (await import('./commands/quota.ts')).addQuotaCommand(program),
  },
  {
    name: 'mcp',
    noun: 'agents',
    summary: 'Serve a session’s tools to its agent',
    add: async program => (await import('./commands/mcp.ts')).addMcpCommand(program),
  },
  {
    name: 'simulate',
    noun: 'agents',
    summary: 'Run a scripted model API on loopback',
    add: async program => (await import('./commands/simulate.ts')).addSimulateCommand(program),
  },
  {
    name: 'audit',
    noun: 'api',
    summary: 'Show who changed what',
    add: async program => (await import('./commands/audit.ts')).addAuditCommand(program),
  },
  {
    name: 'webhooks',
    noun: 'api',
    summary: 'See messages of other programs, and what became of them',
    add: async program => (await import('./commands/webhooks.ts')).addWebhooksCommand(program),
  },
  {
    name: 'trust',
    noun: 'config',
    summary: 'Agree to what a project’s own files set up',
    add: async program => (await import('./commands/trust.ts')).addTrustCommand(program),
  },
  {
    name: 'accept',
    noun: 'config',
    summary: 'See what was changed in your settings outside pcc, and let it count',
    add: async program => (await import('./commands/accept.ts')).addAcceptCommand(program),
  },
  {
    name: 'secrets',
    noun: 'config',
    summary: 'Keep keys and tokens encrypted, and name them in settings',
    add: async program => (await import('./commands/secrets.ts')).addSecretsCommand(program),
  },
  {
    name: 'notify',
    noun: 'config',
    summary: 'Send a test notification',
    add: async program => (await import('./commands/notify.ts')).addNotifyCommand(program),
  },
  {
    name: 'completion',
    noun: 'config',
    summary: 'Print a completion script for bash, zsh or fish',
    add: async program => (await import('./commands/completion.ts')).addCompletionCommand(program, COMMANDS),
  },
]
