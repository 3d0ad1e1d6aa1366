import { DatabaseSync } from 'node:sqlite'

export const YEAR = { sessions: 5_000, tasks: 20_000, events: 2_000_000, projects: 20 }

const DAY_MS = 86_400_000
/** Sessions follow one another through the year and work most of that time. */
const STEP_MS = Math.floor((365 * DAY_MS) / YEAR.sessions)

/**
 * Fills a store that pcc has made with a year of use: sessions that ended, each with a run of four tasks, their attempts, spending and
 * events. Plain SQL, because two million events through the product would take an hour; what pcc itself keeps with triggers is kept.
 */
export function fillYear(file: string, { root, now }: { root: string; now: number }): void {
  const db = new DatabaseSync(file)
  try {
    db.exec('pragma journal_mode = wal; pragma synchronous = off; pragma cache_size = -200000; begin')
    const begin = now - YEAR.sessions * STEP_MS
    const numbers = (count: number) =>
      `with recursive numbers(n) as (select 0 union all select n + 1 from numbers where n + 1 < ${count})`
    const perSession = YEAR.tasks / YEAR.sessions
    const session = (n: string) => `printf('s-%06x', ${n})`
    const task = (n: string) => `printf('t-%06x', ${n})`
    const project = (n: string) => `'${root}/project-' || (${n} % ${YEAR.projects})`
    const at = (n: string) => `${begin} + ${n} * ${STEP_MS}`
    db.exec(`${numbers(YEAR.sessions)} insert into sessions
      (id, name, project, task, agent, model, vendor_id, options, owner, state, ended_as, status_reason, created_at, started_at, ended_at,
       plan, input_tokens, output_tokens, context_tokens, context_window, cost_usd, turns, tools_auto, tools_human, tools_denied,
       questions_auto, questions_human, account, task_id)
      select ${session('n')}, 'work-' || n, ${project('n')}, 'Mend part ' || n || ' of the parser', 'claude', 'claude-haiku-5-5',
        printf('00000000-0000-4000-8000-%012x', n), json_object('project', ${project('n')}, 'task', 'Mend part ' || n),
        null, 'ended', iif(n >= ${YEAR.sessions - 7}, 'paused', 'completed'), null, ${at('n')}, ${at('n')}, ${at('n')} + ${STEP_MS - 60_000},
        '[]', 40000, 9000, 60000, 200000, 0.4, 30, 80, 1, 1, 0, 0, 'account-1', ${task(`n * ${perSession}`)} from numbers`)
    db.exec(`${numbers(YEAR.sessions)} insert into runs
      (id, project, target, options, state, outcome, reason, iterations, created_at, ended_at)
      select printf('r-%06x', n), ${project('n')}, '{"kind":"project"}', '{}', 'ended', 'complete', 'every task is done', ${perSession},
        ${at('n')}, ${at('n')} + ${STEP_MS - 60_000} from numbers`)
    db.exec(`${numbers(YEAR.tasks)} insert into tasks
      (id, session_id, project, title, description, state, reason, priority, open_blockers, attempt, created_at, started_at, ended_at,
       result, position, verification, run_id)
      select ${task('n')}, null, ${project(`(n / ${perSession})`)}, 'Mend part ' || n || ' of the parser', 'It loses commas in line ' || n || '.',
        iif(n < ${YEAR.tasks - 200}, 'done', 'ready'), null, 0, 0, 1, ${at(`(n / ${perSession})`)}, ${at(`(n / ${perSession})`)},
        ${at(`(n / ${perSession})`)} + 3600000, 'Commas are escaped in part ' || n || '.', n + 1000, 'passed',
        printf('r-%06x', n / ${perSession}) from numbers`)
    db.exec(`${numbers(YEAR.tasks - 200)} insert into attempts
      (task_id, number, run_id, iteration, session_id, model, cost_usd, started_at, title)
      select ${task('n')}, 1, printf('r-%06x', n / ${perSession}), n % ${perSession} + 1, ${session(`n / ${perSession}`)}, 'claude-haiku-5-5',
        0.1, ${at(`(n / ${perSession})`)}, 'Mend part ' || n || ' of the parser' from numbers`)
    // A journal entry is found by its words once its outcome is known.
    db.exec(`update attempts set outcome = iif(rowid % 9 = 0, 'failed', 'done'), reason = iif(rowid % 9 = 0, 'npm test: 3 failing', null),
      notes = 'Commas are escaped in ' || title, files = '["src/parser.ts"]', ended_at = started_at + 3600000`)
    db.exec(`insert into spending (scope, "key", turns, tokens, cost_usd, wall_minutes, updated_at)
      select 'session', id, 30, 49000, 0.4, 60, created_at from sessions
      union all select 'task', id, 8, 12000, 0.1, 15, created_at from tasks
      union all select 'project', project, 30 * count(*), 49000 * count(*), 0.4 * count(*), 60 * count(*), max(created_at)
        from sessions group by project
      union all select 'day', strftime('%Y-%m-%d', created_at / 1000, 'unixepoch'), 30 * count(*), 49000 * count(*), 0.4 * count(*),
        60 * count(*), max(created_at) from sessions group by 2`)
    db.exec(`${numbers(YEAR.sessions)} insert into escalations
      (kind, session_id, project, call_id, tool, target, input, risk, reason, normalised, fingerprint, state, count, created_at, last_at,
       verdict, answered_by, answered_at)
      select 'permission', ${session('n')}, ${project('n')}, 'call-' || n, 'Bash', 'git push', '{"command":"git push"}', 'MEDIUM',
        'it leaves the machine', 'git push', 'print-' || n, iif(n >= ${YEAR.sessions - 5}, 'open', 'answered'), 1, ${at('n')}, ${at('n')},
        'allow', 'human', ${at('n')} from numbers`)
    fillEvents(db, { begin, perSession: YEAR.events / YEAR.sessions })
    db.exec(
      `insert into quota_accounts (account, label, place, updated_at) values ('account-1', 'claude', null, ${now})`,
    )
    db.exec(`${numbers(20_000)} insert into quota_history (account, "window", source, at, utilization, resets_at)
      select 'account-1', 'five_hour', 'header', ${now} - n * 300000, (n % 100) / 100.0, ${now} - n * 300000 + 3600000 from numbers`)
    db.exec(`insert into quota_windows (account, "window", source, at, utilization, resets_at)
      values ('account-1', 'five_hour', 'header', ${now}, 0.4, ${now + 3_600_000})`)
    db.exec('commit; pragma wal_checkpoint(truncate)')
  } finally {
    db.close()
  }
}

/** Of every session the same events: it begins its tasks, calls tools, which are judged, reports its usage, and ends. */
function fillEvents(db: DatabaseSync, { begin, perSession }: { begin: number; perSession: number }): void {
  const insert = db.prepare(
    'insert into events (time, actor, schema_version, subject, kind, body) values (?, ?, 1, ?, ?, ?)',
  )
  const tasksOf = YEAR.tasks / YEAR.sessions
  const output = 'ok 12 - the parser keeps commas\n'.repeat(5)
  for (let n = 0; n < YEAR.sessions; n += 1) {
    const subject = `s-${n.toString(16).padStart(6, '0')}`
    const add = (at: number, actor: string, kind: string, body: object) =>
      insert.run(
        begin + n * STEP_MS + Math.floor((at * (STEP_MS - 60_000)) / perSession),
        actor,
        subject,
        kind,
        JSON.stringify(body),
      )
    for (let at = 0; at < perSession; at += 1) {
      const index = Math.floor((at * tasksOf) / perSession)
      const number = n * tasksOf + index
      const task = { task_id: `t-${number.toString(16).padStart(6, '0')}`, title: `Mend part ${number} of the parser` }
      const place = at - Math.ceil((index * perSession) / tasksOf)
      const last = Math.ceil(((index + 1) * perSession) / tasksOf) - 1
      const call = { call_id: `call-${n}-${at}`, tool: 'Bash', target: 'npm test' }
      const verdict = {
        verdict: 'allow',
        risk: 'LOW',
        reason: 'runs the tests of the project',
        confidence: 1,
        by: 'policy',
      }
      if (at === 0) add(at, 'daemon', 'session.created', { name: `work-${n}`, project: 'p', task: 'Mend it' })
      else if (at === 1)
        add(at, 'agent', 'agent.started', { agent: 'claude', model: 'claude-haiku-5-5', sandboxed: true })
      else if (at === perSession - 1) {
        const tasks = { done: tasksOf }
        const body = {
          outcome: 'complete',
          reason: 'every task is done',
          tasks,
          unverified: 0,
          merged: tasksOf,
          unmerged: 0,
        }
        insert.run(
          begin + (n + 1) * STEP_MS - 60_000,
          'daemon',
          `r-${subject.slice(2)}`,
          'run.ended',
          JSON.stringify(body),
        )
        add(at, 'daemon', 'session.ended', { status: 'completed', reason: 'done' })
      } else if (place <= 2) add(at, 'daemon', 'task.started', { ...task, from: 'ready', attempt: 1 })
      else if (at === last)
        add(at, 'daemon', 'task.finished', { ...task, from: 'running', attempt: 1, result: 'Commas are escaped.' })
      else if (at % 4 === 0) add(at, 'daemon', 'permission.decided', { ...call, ...verdict })
      else if (at % 4 === 1) add(at, 'agent', 'tool.finished', { ...call, ok: true, output })
      else if (at % 4 === 2)
        add(at, 'agent', 'usage.reported', {
          input_tokens: at * 100,
          output_tokens: at * 20,
          cache_read_tokens: at * 1000,
          cache_write_tokens: at * 10,
          cost_usd: at / 1000,
        })
      else add(at, 'agent', 'agent.said', { text: 'I look at the parser, then I run its tests again.' })
    }
  }
}
