import type { CommandRow } from './context.ts'

const WORK = 'Work:'
const WATCH = 'Watch:'
const DECIDE = 'Decide:'
const STEER = 'Steer:'
const KNOW = 'Know:'
const SET_UP = 'Set up:'
const TRY = 'Try:'

/** All commands, in the order of the help. */
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
    summary: 'Start a supervised session of a coding agent',
    add: async program => (await import('./commands/start.ts')).addStartCommand(program),
  },
  {
    name: 'add',
    group: WORK,
    summary: 'Add a task to a session’s queue',
    add: async program => (await import('./commands/add.ts')).addAddCommand(program),
  },
  {
    name: 'task',
    group: WORK,
    summary: 'A project’s tasks and what comes after what',
    add: async program => (await import('./commands/task/task.ts')).addTaskCommand(program),
  },
  {
    name: 'feature',
    group: WORK,
    summary: 'From an idea to tasks: interview, spec, plan',
    add: async program => (await import('./commands/feature.ts')).addFeatureCommand(program),
  },
  {
    name: 'run',
    group: WORK,
    summary: 'Work through tasks, a fresh agent for each',
    add: async program => (await import('./commands/run/run.ts')).addRunCommand(program),
  },
  {
    name: 'report',
    group: WATCH,
    summary: 'What happened while you were away',
    add: async program => (await import('./commands/report.ts')).addReportCommand(program),
  },
  {
    name: 'runs',
    group: WORK,
    summary: 'List scheduled, current and past runs',
    add: async program => (await import('./commands/runs.ts')).addRunsCommand(program),
  },
  {
    name: 'list',
    group: WATCH,
    summary: 'List all sessions',
    add: async program => (await import('./commands/list.ts')).addListCommand(program),
  },
  {
    name: 'status',
    group: WATCH,
    summary: 'Show one session in detail',
    add: async program => (await import('./commands/status.ts')).addStatusCommand(program),
  },
  {
    name: 'attach',
    group: WATCH,
    summary: 'Watch a session live and answer what it asks',
    add: async program => (await import('./commands/attach.ts')).addAttachCommand(program),
  },
  {
    name: 'logs',
    group: WATCH,
    summary: 'Show what happened in a session',
    add: async program => (await import('./commands/logs.ts')).addLogsCommand(program),
  },
  {
    name: 'journal',
    group: WATCH,
    summary: 'Read what became of every attempt, or search it',
    add: async program => (await import('./commands/journal.ts')).addJournalCommand(program),
  },
  {
    name: 'diff',
    group: WATCH,
    summary: 'Show what was changed for a task',
    add: async program => (await import('./commands/diff.ts')).addDiffCommand(program),
  },
  {
    name: 'quota',
    group: WATCH,
    summary: 'Show how full your accounts are, and hold work back',
    add: async program => (await import('./commands/quota.ts')).addQuotaCommand(program),
  },
  {
    name: 'budget',
    group: WATCH,
    summary: 'Show what is spent and left, and what stops when',
    add: async program => (await import('./commands/budget.ts')).addBudgetCommand(program),
  },
  {
    name: 'rules',
    group: DECIDE,
    summary: 'Say what is always allowed, asked about or refused',
    add: async program => (await import('./commands/rules.ts')).addRulesCommand(program),
  },
  {
    name: 'explain',
    group: DECIDE,
    summary: 'Show what the policy makes of a command, and why',
    add: async program => (await import('./commands/explain.ts')).addExplainCommand(program),
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
    name: 'review',
    group: DECIDE,
    summary: 'Look at work before it is merged, and let it through',
    add: async program => (await import('./commands/review.ts')).addReviewCommand(program),
  },
  {
    name: 'answers',
    group: DECIDE,
    summary: 'See and forget what you answered before',
    add: async program => (await import('./commands/answers.ts')).addAnswersCommand(program),
  },
  {
    name: 'pause',
    group: STEER,
    summary: 'Pause a session after the tool in flight',
    add: async program => (await import('./commands/pause.ts')).addPauseCommand(program),
  },
  {
    name: 'resume',
    group: STEER,
    summary: 'Resume a paused, stopped or failed session',
    add: async program => (await import('./commands/resume.ts')).addResumeCommand(program),
  },
  {
    name: 'stop',
    group: STEER,
    summary: 'Stop a session now',
    add: async program => (await import('./commands/stop.ts')).addStopCommand(program),
  },
  {
    name: 'retry',
    group: STEER,
    summary: 'Try a session again that failed',
    add: async program => (await import('./commands/retry.ts')).addRetryCommand(program),
  },
  {
    name: 'takeover',
    group: STEER,
    summary: 'Take the terminal of a session in tmux',
    add: async program => (await import('./commands/takeover.ts')).addTakeoverCommand(program),
  },
  {
    name: 'handback',
    group: STEER,
    summary: 'Give a terminal back that you took',
    add: async program => (await import('./commands/handback.ts')).addHandbackCommand(program),
  },
  {
    name: 'checkpoints',
    group: STEER,
    summary: 'Show where a session stood when it was interrupted',
    add: async program => (await import('./commands/checkpoints.ts')).addCheckpointsCommand(program),
  },
  {
    name: 'worktree',
    group: STEER,
    summary: 'List, archive and restore worktrees',
    add: async program => (await import('./commands/worktree.ts')).addWorktreeCommand(program),
  },
  {
    name: 'gates',
    group: STEER,
    summary: 'List, detect and run the gates',
    add: async program => (await import('./commands/gates.ts')).addGatesCommand(program),
  },
  {
    name: 'merge',
    group: STEER,
    summary: 'List, retry and abort merges',
    add: async program => (await import('./commands/merge.ts')).addMergeCommand(program),
  },
  {
    name: 'notes',
    group: KNOW,
    summary: 'Read and write what is worth knowing about a project',
    add: async program => (await import('./commands/notes.ts')).addNotesCommand(program),
  },
  {
    name: 'config',
    group: SET_UP,
    summary: 'Show and change settings',
    add: async program => (await import('./commands/config.ts')).addConfigCommand(program),
  },
  {
    name: 'accept',
    group: SET_UP,
    summary: 'See what was changed in your settings outside pcc, and let it count',
    add: async program => (await import('./commands/accept.ts')).addAcceptCommand(program),
  },
  {
    name: 'trust',
    group: SET_UP,
    summary: 'Agree to what a project’s own files set up',
    add: async program => (await import('./commands/trust.ts')).addTrustCommand(program),
  },
  {
    name: 'notify',
    group: SET_UP,
    summary: 'Send a test notification',
    add: async program => (await import('./commands/notify.ts')).addNotifyCommand(program),
  },
  {
    name: 'agents',
    group: SET_UP,
    summary: 'See which agents there are, log in, look at their past conversations',
    add: async program => (await import('./commands/agents.ts')).addAgentsCommand(program),
  },
  {
    name: 'daemon',
    group: SET_UP,
    summary: 'Start, stop and look at the background process',
    add: async program => (await import('./commands/daemon.ts')).addDaemonCommand(program),
  },
  {
    name: 'doctor',
    group: SET_UP,
    summary: 'Check everything that pcc needs, and mend it',
    add: async program => (await import('./commands/doctor.ts')).addDoctorCommand(program),
  },
  {
    name: 'mcp',
    group: SET_UP,
    summary: 'Serve a session’s tools to its agent',
    add: async program => (await import('./commands/mcp.ts')).addMcpCommand(program),
  },
  {
    name: 'completion',
    group: SET_UP,
    summary: 'Print a completion script for bash, zsh or fish',
    add: async program => (await import('./commands/completion.ts')).addCompletionCommand(program, COMMANDS),
  },
  {
    name: 'demo',
    group: TRY,
    summary: 'Watch a real supervised session, with no account and no network',
    add: async program => (await import('./commands/demo.ts')).addDemoCommand(program),
  },
  {
    name: 'simulate',
    group: TRY,
    summary: 'Run a scripted model API on loopback',
    add: async program => (await import('./commands/simulate.ts')).addSimulateCommand(program),
  },
]
