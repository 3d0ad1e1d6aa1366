import { LEARNING_RULES, NOTICE_KINDS } from '../../option-values.ts'
import {
  address,
  count,
  flag,
  hours,
  lowerOf,
  oneOf,
  onlyTo,
  optionalCount,
  type Setting,
  share,
  someOf,
  text,
} from '../setting.ts'

/** How long decisions wait for a person, and how long answers are reused. */
export const HUMAN_SETTINGS = {
  'human.grace_seconds': count(1, {
    standard: 60,
    about:
      'Seconds without a key at an attached terminal after which its open ask is parked and you are notified elsewhere',
    project: 'trusted',
  }),
  'human.deadline_minutes': optionalCount(1, {
    standard: undefined,
    about:
      'Minutes after which a decision that waits for you is settled by `human.on_deadline`; unset: it waits for ever',
    project: 'trusted',
  }),
  'human.on_deadline.question': oneOf(['keep_waiting', 'take_suggestion', 'deny'], {
    standard: 'keep_waiting',
    about:
      'A question at its deadline: keeps waiting, gets the answer that the brain suggests, or the agent must decide',
    project: 'trusted',
  }),
  'human.on_deadline.permission': oneOf(['keep_waiting', 'deny'], {
    standard: 'keep_waiting',
    about: 'A dangerous call at its deadline: keeps waiting, or is refused; it is never approved',
    project: 'trusted',
  }),
  'memory.answers_ttl_days': count(1, {
    standard: 90,
    about: 'Days for which your answer is used when the same is asked again; with `--always` it never expires',
    project: 'tighten',
    tighten: lowerOf,
  }),
  'memory.answers_confidence': share({
    standard: 0.95,
    about: 'Confidence of an answer that you gave before; if below `brain.confidence_threshold`, you are asked again',
    project: 'tighten',
    tighten: lowerOf,
  }),
  'memory.enabled': flag({
    standard: true,
    about: 'Learn from what happens, and show agents and brains what was learned',
    project: 'tighten',
    tighten: onlyTo(false),
  }),
  'memory.holdout_share': share({
    standard: 0.1,
    about: 'Share of tasks that are not shown what was learned, to measure what showing it is worth',
    project: 'never',
  }),
  'memory.share_after_days': count(0, {
    standard: 0,
    about: 'Days after which other agents may read what an agent keeps for itself; 0: never',
    project: 'never',
  }),
  'memory.vectors': flag({
    standard: false,
    about:
      'Find similar episodes by their meaning, too: their text is sent to `knowledge.embedding_provider`; without an answer words alone decide',
    project: 'tighten',
    tighten: onlyTo(false),
  }),
  'memory.learning': oneOf(LEARNING_RULES, {
    standard: 'beta',
    about:
      'How sure experience is: `beta` weighs outcomes that fade and takes a lower bound, `seed` adds 0.05 for a success and takes 0.10 for a failure',
    project: 'never',
  }),
} as const satisfies Record<string, Setting>

const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

const when = (about: string, also?: string[]) =>
  flag({ standard: true, about, project: 'trusted', ...(also ? { also } : {}) })

const secret = (about: string) => text({ standard: undefined, about, project: 'never', secret: true as const })

/** Notifications: what, when and where. A project may at most switch off, or on, kinds and the sound of what is about it; only the person sets where messages go. */
export const NOTIFICATION_SETTINGS = {
  'notifications.enabled': when('Show notifications'),
  'notifications.sound': when('Play a sound with them', ['notification_sound']),
  'notifications.on_question': when('When a question or a dangerous call waits for a person'),
  'notifications.on_complete': when('When a session or a run has done its work'),
  'notifications.on_rate_limit': when('When a limit is hit, or a budget is nearly spent'),
  'notifications.on_error': when('When something fails'),
  'notifications.on_report': flag({
    standard: true,
    about: 'When the report of `report.at` is made, which is about all projects',
    project: 'never',
  }),
  'notifications.desktop': flag({
    standard: true,
    about: 'Show them on the desktop, where there is one: notify-send on Linux, osascript on macOS',
    project: 'never',
  }),
  'notifications.bell': flag({
    standard: false,
    about: 'Ring the bell of terminals that are attached to a session',
    project: 'never',
  }),
  'notifications.quiet_hours': hours({
    standard: undefined,
    about: 'Hours without notifications; what happens then is sent in one message afterwards',
    project: 'never',
  }),
  'notifications.working_days': someOf(WEEKDAYS, {
    standard: [...WEEKDAYS],
    about: 'Days on which you are notified; what happens on other days is sent on the next of these',
    project: 'never',
  }),
  'notifications.wake_for': someOf(NOTICE_KINDS, {
    standard: [],
    about: 'What is sent at once even in quiet hours and on other days',
    project: 'never',
  }),
  'notifications.remind_minutes': count(1, {
    standard: 60,
    about: 'Minutes until you are reminded of a decision that still waits; each later reminder takes twice as long',
    project: 'never',
  }),
  'notifications.reminders': count(0, {
    standard: 3,
    about: 'Most reminders of one decision',
    project: 'never',
  }),
  'notifications.ntfy.topic': secret('Topic of ntfy, or "secret:NAME" or "env:NAME"; whoever knows it can read it'),
  'notifications.ntfy.server': address({
    standard: 'https://ntfy.sh',
    about: 'Address of the ntfy server',
    project: 'never',
  }),
  'notifications.ntfy.token': secret('Access token of ntfy if it needs one, or "secret:NAME" or "env:NAME"'),
  'notifications.slack.webhook': secret(
    'Address of an incoming webhook in Slack\'s format, or "secret:NAME" or "env:NAME"',
  ),
  'notifications.telegram.bot_token': secret('Token of your Telegram bot, or "secret:NAME" or "env:NAME"'),
  'notifications.telegram.chat_id': text({
    standard: undefined,
    about: 'The one chat that gets notifications and may answer',
    project: 'never',
    // People keep it beside its token.
    mayRefer: true,
  }),
  'notifications.telegram.base_url': address({
    standard: 'https://api.telegram.org',
    about: "Address of Telegram's bot API",
    project: 'never',
  }),
} as const satisfies Record<string, Setting>
