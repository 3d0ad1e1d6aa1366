import type { ProgramCall, ProgramRule, ProgramRules } from '../classify/call.ts'
import { locatePath } from '../paths/fence.ts'
import { isScratchFile, judgePath } from '../paths/judge-path.ts'
import { type Arg, findFlag, HOLE, isFlag } from '../shell/args.ts'
import { printText } from '../shell/printed.ts'
import { callsMore } from './data.ts'
import { findRunText, findShellText } from './interpreter-rule.ts'
import { always, named, type VerbRow, verbs } from './rule-builders.ts'
import { comesFromNetwork, judgeInline } from './run-code.ts'
import { judgeTrial } from './task-files.ts'

/** SQL and the like that loses data or reaches outside of the database. */
const DESTROYS =
  /\b(drop|truncate|delete\s+from|delete|alter\s+(table|user|role|system|database)|grant|revoke|create\s+(user|role|extension|language)|update\s+\w+\s+set|shutdown|flushall|flushdb|dropdatabase|deletemany|deleteone|remove|\.drop|config\s+set|debug\s+(segfault|sleep)|slaveof|replicaof|eval|script\s+(flush|load)|module\s+load|migrate|restore|swapdb|reset|del|unlink|purge|vacuum\s+into|attach)\b/i

const REACHES =
  /\b(system|shell|copy\s[\s\S]*\b(to|from)\s+(program|stdout|')|\\!|lo_export|pg_read_file|load_file|into\s+(out|dump)file|load\s+data|xp_cmdshell|load_extension|writefile|readfile|child_process|source)\b|\b(load|run)\(|(^|\s)\.(shell|system|output|once|save|backup|import|read|load|excel|open|cd|dump|clone|archive|log)\b|\\(!|copy|o\b|w\b|i\b)|\\g\s*\|/i

const READS =
  /^\s*("|')?\s*(select|show|describe|desc|explain|\\d\w*|\\l|\\dt|\.tables|\.schema|\.databases|pragma|with|ping|info|get|keys|scan|ttl|exists|type|llen|lrange|hgetall|hget|smembers|dbsize|time|echo|version|values|table|count|find)\b/i

/** Database clients: HIGH if the statements lose data, MEDIUM otherwise. */
export const DATABASES: ProgramRules = {
  ...named(
    'psql mysql mariadb sqlite3 sqlite mongo mongosh redis-cli valkey-cli keydb-cli clickhouse-client clickhouse cqlsh cockroach duckdb influx neo4j-shell cypher-shell sqlcmd isql osql bcp sqlplus usql pgcli mycli litecli iredis arangosh couchbase-cli etcdctl memcached-tool snowsql bq-sql trino presto hive beeline spark-sql impala-shell rethinkdb dgraph surreal turso libsql rqlite',
    client,
  ),
  ...named(
    'dropdb dropuser mysqladmin pg_ctl pg_resetwal initdb pg_dropcluster pg_rewind',
    always('HIGH', 'db.destroy', 'destroys or stops databases'),
  ),
  ...named('pg_dump pg_dumpall mysqldump mongodump redis-dump sqlite3_analyzer mongoexport pg_basebackup', call => {
    const out = call.args.some(arg => /^(-f|--file|-o|--out|--result-file|-D|--tab)/.test(arg.value))
    // The tables of a database at work, without what is in them.
    const isShape = call.args.some(({ value }) => /^(-s|--schema-only|--no-data)$/.test(value))
    const words = joinKnown(call.args)
    const isLocal = call.scope.contained || LOCAL_SHAPE.test(words)
    if (!out && isShape && isLocal && /^pg_dump$/.test(call.name) && SHAPE_WORDS.test(words))
      return call.say('db.read', 'MEDIUM', `${call.name} shows the tables of a database`)
    call.say('db.dump', out ? 'HIGH' : 'MEDIUM', `${call.name} copies a database out`)
  }),
  ...named(
    'pg_restore mongorestore mysqlimport mongoimport createuser reindexdb vacuumdb clusterdb',
    always('MEDIUM', 'db.change', 'changes a database'),
  ),
  createdb: call => {
    const far = call.args.some(
      ({ known, value }) => !known || /^(-h|--host|--maintenance-db)/.test(value) || namesFarDatabase(value),
    )
    call.say(far ? 'db.change' : 'db.migrate', 'MEDIUM', 'createdb makes a database')
  },
  ...named('pg_isready pg_config', call => call.say('db.read', 'MEDIUM', `${call.name} looks at a database`)),
}

/** A database for development, on this machine. */
const LOCAL_SHAPE = /(^| )(-h|--host)[ =](localhost|127\.0\.0\.1)( .*)? (-d )?\w+_(dev|test|development|local)( |$)/
const SHAPE_WORDS =
  /^(((-h|--host)[ =](localhost|127\.0\.0\.1)|(-p|--port)[ =]\d+)( |$)|(-s|--schema-only|-O|-x|--no-owner|--no-privileges|--no-comments|(-U|-d|-t|-n|--username|--dbname|--table|--schema)[ =]\w+|\w+)( |$))+$/

function client(call: ProgramCall): undefined {
  const texts = [
    ...call.args.filter(arg => arg.value.length > 1),
    ...(call.feed.text ? [call.feed.text] : []),
    ...findFedTexts(call),
  ]
  if (comesFromNetwork(call)) call.say('pipe.interpreter', 'HIGH', `bytes from the network reach ${call.name}`)
  const out = findFlag(
    call.args,
    ['-o', '-L', '--output', '--log-file', '--tee', '--pager'],
    'cdfhpUvFRTWPCAoLDeuS',
  )?.arg
  if (out && OUTPUTS.test(call.name)) call.say('write.flag', 'HIGH', `${out.text} makes ${call.name} write or run`, out)
  const words = call.args
    .filter(arg => !isFlag(arg))
    .map(arg => arg.value)
    .join(' ')
  let isJudged = false
  if (/\b(config set|script (flush|load)|debug |module load|acl |cluster |replicaof|slaveof)/i.test(words)) {
    call.say('db.reach', 'HIGH', `${call.name} changes the server itself`)
    isJudged = true
  }
  for (const arg of /^sqlite3?$/.test(call.name) && isForNow(call) ? [] : texts) {
    const value = isFlag(arg) ? arg.value.replace(/^--?[\w-]+=?/, '') : arg.value
    if (value === '') continue
    const fixed: Arg = { ...arg, value }
    if (DESTROYS.test(value) && !looksLikePath(value)) {
      call.say('db.destroy', 'HIGH', `${arg.text} changes or loses data`, arg)
      isJudged = true
    } else if (REACHES.test(value)) {
      call.say('db.reach', 'HIGH', `${arg.text} reaches out of the database`, arg)
      isJudged = true
    }
    call.secret(fixed)
  }
  const script = call.args.find(arg => /^(--init|-init|--load-extension|-cmd|--eval-file|-x$|--pipe)$/.test(arg.value))
  if (script && !(script.value === '-cmd' && isForNow(call)))
    call.say('db.reach', 'HIGH', `${script.text} runs more`, script)
  judgeLiterals(call, texts)
  const far = call.args.find(
    ({ value }, at) =>
      namesFarDatabase(value) ||
      (/^mongo/.test(call.name) &&
        /^[\w.-]+(:\d+)?\/\w+$/.test(value) &&
        !/^(localhost|127\.0\.0\.1)[:/]/.test(value)) ||
      (/^(-h|--host)$/.test(call.args[at - 1]?.value ?? '') && !LOCAL_HOST.test(value)) ||
      (/^(-h.|--host=)/.test(value) &&
        !/^sqlite|^duckdb/.test(call.name) &&
        !LOCAL_HOST.test(value.replace(/^(-h|--host=)/, ''))),
  )
  if (far) call.say('db.open', 'MEDIUM', `${far.text} names a database that is not this project's own`, far)
  const shown = texts.find(arg => SHOWS_SECRETS.test(arg.value)) ?? findSetting(call)
  if (shown) call.say('secret.maybe', 'MEDIUM', `${shown.text} may show passwords`, shown)
  if (isJudged) return
  // `--command=…` holds a statement too.
  const line = texts.flatMap(arg => (isFlag(arg) ? (/^--[\w-]+=(.+)$/s.exec(arg.value)?.[1] ?? []) : arg.value))
  const file = call.args.some(
    ({ value }) => /^(-f|--file|-init)/.test(value) || (/^mongo/.test(call.name) && /\.(m?js|mongodb)$/.test(value)),
  )
  if (!far && isOwnFile(call)) return call.say('db.migrate', 'MEDIUM', `${call.name} runs a file of the project`)
  if ((call.feed.piped && !isFedQuery(call)) || call.feed.file || file)
    return call.say('db.change', 'MEDIUM', `${call.name} runs what it is fed`)
  if (
    /^redis-cli$|^valkey-cli$/.test(call.name) &&
    /^(-h (localhost|127\.0\.0\.1) |-p \d+ |-n \d+ )*--(scan|bigkeys|stat)( --pattern [\w:*-]+)?$/.test(
      call.args.map(({ value }) => value).join(' '),
    )
  )
    return call.say('db.read', 'MEDIUM', `${call.name} looks at a database`)
  if (/^sqlite3?$/.test(call.name) && isForNow(call))
    return call.say('db.read', 'MEDIUM', `${call.name} works in memory or on a file for now`)
  if (!far && (isOwnInsert(call) || isOwnText(call) || isOwnEntry(call)))
    return call.say('db.migrate', 'MEDIUM', `${call.name} adds to a database of the project`)
  if (
    line.some(text => onlyReads(text) || MONGO_READS.test(text)) &&
    !line.some(word => CHANGES.test(word) || callsMore(word))
  )
    return call.say('db.read', 'MEDIUM', `${call.name} looks at a database`)
  call.say('db.open', 'MEDIUM', `${call.name} opens a database`)
}

/**
 * `sqlite3 :memory: '…'`, or a scratch file in /tmp: nothing that anybody keeps. The statements may reach no other file and load no code, and of the
 * commands of the client only those count that show, or read a file of the project.
 */
function isForNow({ args, fence, feed, scope }: ProgramCall): boolean {
  const [name, ...texts] = args.filter(arg => !isFlag(arg))
  if (name === undefined || feed.piped || feed.file || feed.text || texts.length === 0 || scope.cwd === undefined)
    return false
  if (
    !args.every(
      ({ known, value }) =>
        known &&
        (!value.startsWith('-') ||
          /^-(cmd|header|csv|column|json|box|line|list|markdown|table|batch|bail)$/.test(value)),
    )
  )
    return false
  if (name.value !== ':memory:' && !(/\.(db|sqlite3?)$/.test(name.value) && isScratchFile(name.value, fence)))
    return false
  return texts.every(({ value }) => {
    if (!/^\s*\./.test(value)) return !/\n\s*\./.test(value) && !LEAVES_FILE.test(value)
    const [, file] = /^\.import (?:--csv |--skip \d+ )*([A-Za-z][\w./-]*) \w+$/.exec(value) ?? []
    if (file === undefined)
      return /^\.(mode|headers?|separator|width|nullvalue|timer|tables|schema|indexes)( [\w,"'|]*)*$/.test(value)
    const { risk } = judgePath(file, 'read', { cwd: scope.cwd ?? '', fence })
    return risk === 'LOW' && locatePath(file, scope.cwd ?? '', fence).where === 'inside'
  })
}

const LEAVES_FILE =
  /\b(attach|detach|vacuum|load_extension|readfile|writefile|edit|fsdir|lsmode|zipfile|sqlar\w*|fts3_tokenizer|shell|system|pragma\s+(?!table_info|index_list|foreign_keys|compile_options|user_version))\b/i

const FED_WORDS = /^((-U|-d) )?(\w+ )*(-d )?\w+_(dev|test|development|local)$/
/** What loses data in a file of statements, and lines that the client runs itself. */
const STEPS = /^\s*\\|\b(drop|truncate|grant|revoke|program)\b|\bdelete\s+from\b/im

/** `psql app_dev -f db/seeds/dev.sql`: a file of the project for a database that is for development, on this machine. */
function isOwnFile(call: ProgramCall): boolean {
  const { name, args, feed, scope, fence } = call
  const words = joinKnown(args)
  if (scope.contained && feed.file?.known && scope.cwd !== undefined && FED_WORDS.test(words)) {
    const place = locatePath(feed.file.value, scope.cwd, fence)
    const found = place.where === 'inside' ? fence.look?.(place.path) : undefined
    return found?.is === 'file' && !STEPS.test(found.bytes.toString('utf8'))
  }
  return name === 'psql' && /^(-d )?\w+_(dev|test|development|local) (-q )?-f [\w-][\w/-]*(\.[\w-]+)*\.sql$/.test(words)
}

/** `psql -d app_dev -c 'insert …'`: one row more in a database that is for development, on this machine. */
function isOwnInsert({ name, args, scope }: ProgramCall): boolean {
  const words = args.map(({ value, known }) => (known ? value : HOLE))
  if (name === 'psql' && scope.contained && OWN_ROW.test(words.at(-1) ?? ''))
    return /^((-U|-d|--username|--dbname) \w+ )*(\w+ )?((-U|-d) \w+ )*(-c|--command)$/.test(
      words.slice(0, -1).join(' '),
    )
  const [flag, database, run, text, ...rest] = args.map(({ value, known }) => (known ? value : ''))
  if (name !== 'psql' || rest.length > 0 || !/^(-d|--dbname)$/.test(flag ?? '') || !/^(-c|--command)$/.test(run ?? ''))
    return false
  return /^\w+_(dev|test|development|local)$/.test(database ?? '') && OWN_ROW.test(text ?? '')
}

/** A here-document for the project's own database that adds such rows and looks at them. */
function isOwnText({ name, args, feed, scope }: ProgramCall): boolean {
  const words = joinKnown(args)
  if (name !== 'psql' || !scope.contained || !feed.text?.known || feed.piped || !FED_WORDS.test(words)) return false
  const parts = feed.text.value.split(';').filter(part => part.trim() !== '')
  return parts.every(
    part =>
      !part.includes('\\') &&
      (OWN_ROW.test(part) || (/^\s*select\b/i.test(part) && !CHANGES.test(part) && !callsMore(part))),
  )
}

function joinKnown(args: readonly Arg[]): string {
  return args.map(({ known, value }) => (known ? value : HOLE)).join(' ')
}

/** `redis-cli rpush jobs x`: one entry more on this machine, in the place of nothing. */
function isOwnEntry({ name, args }: ProgramCall): boolean {
  const words = joinKnown(args)
  return (
    /^(redis|valkey)-cli$/.test(name) &&
    /^((-h (localhost|127\.0\.0\.1)|-p \d+|-n \d+) )*(rpush|lpush|sadd|zadd|xadd|incr|incrby|setnx|hsetnx) [\w:-]+( [^\0]+)?$/i.test(
      words,
    )
  )
}

/** Values that are written out: a function could read a file or reach another server. */
const OWN_ROW =
  /^\s*insert\s+into\s+\w+\s*(\([\w\s,]*\)\s*)?values\s*\((\s*(-?[\d.]+|'[^'\\]*'|null|true|false|now\(\)|default)\s*,?)+\)\s*(on\s+conflict(\s*\([\w\s,]*\))?\s+do\s+nothing\s*)?(returning\s+[\w\s,*]+)?;?\s*$/i

/** Texts in statements may name files: `read_csv('.env')`, `from '/etc/x'`. */
function judgeLiterals(call: ProgramCall, texts: readonly Arg[]): undefined {
  for (const arg of texts)
    for (const [, single, double] of arg.value.matchAll(/'([^'\s]+)'|"([^"\s]+)"/g)) {
      const value = single ?? double ?? ''
      call.secret({ ...arg, value })
      if (/^duckdb$|^clickhouse/.test(call.name) && /^([/~]|\.\.\/|[a-z0-9]+:\/\/)/.test(value))
        call.say('db.reach', 'MEDIUM', `${value} is outside the project`, arg)
    }
}

const LOCAL_HOST = /^(localhost|127\.0\.0\.1|::1|\/.*|\.)$/

const OUTPUTS = /^(psql|mysql|mariadb|pgcli|mycli|usql)$/

/** Statements and functions that change something, anywhere in the text. */
const CHANGES =
  /\b(insert|update|merge|create|call|do|copy|into|replace|upsert|set\s+role|pg_terminate_backend|pg_cancel_backend|setval|nextval|lo_\w+|dblink\w*|query_to_xml|writefile|readfile|edit|load_extension|hset|sadd|lpush|rpush|incr|expire|persist|rename|publish)\b/i

/** Tables and columns that hold passwords and keys. */
const SHOWS_SECRETS =
  /\b(pg_authid|pg_shadow|pg_user_mapping\w*|mysql\.user|sys\.sql_logins|\w*passw(or)?d\w*|\w*passphrase\w*|authentication_string|\w*secrets?(_\w+)?|api_?keys?|\w*_tokens?|tokens?|private_?keys?|credentials?|requirepass|masterauth|masteruser)\b/i

/** `redis-cli config get x`: settings hold passwords, and only some are known to be harmless. */
function findSetting({ args }: ProgramCall): Arg | undefined {
  const at = args.findIndex(
    ({ value }, index) => /^config$/i.test(value) && /^get$/i.test(args[index + 1]?.value ?? ''),
  )
  return at < 0 ? undefined : args.slice(at + 2).find(({ known, value }) => !known || !HARMLESS_SETTING.test(value))
}

const HARMLESS_SETTING =
  /^(maxmemory(-[\w-]+)?|save|appendonly|appendfsync|databases|timeout|port|bind|dir|dbfilename|loglevel|maxclients|tcp-keepalive|hz|lazyfree-[\w-]+|slowlog-[\w-]+|notify-keyspace-events)$/

const MONGO_READS =
  /^\s*db(\.\w+)?\.(stats|version|serverStatus|getCollectionNames|getIndexes|find|findOne|count|countDocuments|estimatedDocumentCount|distinct)\([^()]*\)(\.(pretty|limit|skip|sort|count|toArray)\([^()]*\))*\s*;?\s*$|^\s*(printjson\()?db\.\w+\.aggregate\((?![\s\S]*\$(out|merge|function|where|accumulator|currentOp|listLocalSessions)\b)\[[\w\s{}[\]$:,."'-]*\]\)(\.(pretty|toArray)\(\))*\)?\s*;?\s*$/

function onlyReads(text: string): boolean {
  return text
    .split(';')
    .filter(part => part.trim().length > 1)
    .every(part => READS.test(part))
}

/** Texts of an `echo` or of a here-document earlier in the pipe. */
function findFedTexts(call: ProgramCall): Arg[] {
  const last = call.feed.upstream?.at(-1)
  if (last === undefined) return []
  const [name, ...words] = last.words
  return [...(name && /^(echo|printf)$/.test(name.value) ? words : []), ...(last.text ? [last.text] : [])]
}

/** Whether the whole input is a text in the command that only asks: no command of the client, and nothing that runs what is found (`\gexec`). */
function isFedQuery({ name, feed, scope }: ProgramCall): boolean {
  const [program, ...others] = feed.upstream ?? []
  const [head, ...words] = program?.words ?? []
  if (head === undefined || others.length > 0 || program?.among || scope.functions.has(head.value)) return false
  if (!/^(psql|mysql|mariadb|sqlite3|duckdb)$/.test(name) || !words.every(word => word.known && !word.glob))
    return false
  const isBody = head.value === 'cat' && words.length === 0 && program?.text?.known
  const text = isBody
    ? program.text?.value
    : printText(
        head.value,
        words.map(({ value }) => value),
      )
  if (text === undefined || !/^[^\\]*$/.test(text) || /^\s*[.!]/m.test(text)) return false
  return text
    .split(';')
    .every(part => part.trim() === '' || /^\s*(select|with|explain|show|describe|values)\b/i.test(part))
}

const PRINTS_STEPS = /^(up|down)grade [\w:+-]+ --sql$/

function looksLikePath(value: string): boolean {
  return /^[\w./~-]+$/.test(value) && value.includes('/')
}

/**
 * Tools that migrate databases, and frameworks that include such a tool. To migrate forwards is everyday, because the database of a project
 * at work is on this machine; one that is named and elsewhere is asked about.
 */
export const MIGRATION_TOOLS: ProgramRules = {
  prisma: migrations([
    [/^(migrate reset|db push.*|db execute|migrate resolve)/, 'HIGH', 'db.destroy', 'changes or empties a database'],
    [/^(generate|validate|format|version|migrate (status|diff))( |$)/, 'MEDIUM', 'tool.other', 'works on the schema'],
    [/^(migrate dev|db (pull|seed))( |$)/, 'MEDIUM', 'db.migrate', 'migrates a database'],
  ]),
  ...named(
    'drizzle-kit sequelize sequelize-cli knex typeorm alembic flyway liquibase migrate goose dbmate atlas sqlx diesel rails bin/rails artisan django-admin manage.py supabase hasura mikro-orm node-pg-migrate umzug',
    migrations([
      [
        /(^| )(db:(drop|reset|purge|migrate:reset|rollback|truncate\S*|schema:load|seed:undo\S*|migrate:undo\S*)|drop|reset|clean|dropAll|drop-all|downgrade|undo\S*|down|flush|sqlflush|reset_db|rollback|wipe|migrate:(fresh|reset|rollback|refresh|down)|db:wipe|schema:drop|database drop|db reset|purge|revert|migration:(revert|down)|zero)( |$)/,
        'HIGH',
        'db.destroy',
        'empties or rolls back a database',
      ],
      [
        /^(help( \w+)?$|test|spec|runserver|makemigrations|collectstatic|startapp|server|s|generate|g|routes|about|check|--version|status|db:version|db:migrate:status|list|zeitwerk:check|stats|notes|showmigrations|inspectdb|current|history|heads|lint|diff|info|validate|revision|make:\S+|migrate:(make|status|list)|migration:(generate|create)|migrations?:(status|make|list)|route:list|serve|migrate add|migration (generate|list)|new|create|show_urls|makemessages|compilemessages|sqlmigrate|showmigrations|assets:(precompile|clean)|webpacker:compile|initializers|middleware|about|tmp:clear|log:clear|dev:cache|annotate\S*|queue:failed|schedule:list|event:list|config:clear|cache:clear|view:clear|route:clear|optimize:clear|storage:link|(test|spec|lint):(all|unit|units|feature|features|integration|system|models|controllers|helpers|requests|jobs|views|lib|prepare|coverage|parallel|fix|erb|ruby|js|css)|loaddata fixtures\/[\w./-]+|i18n:\S+)( |$)/,
        'MEDIUM',
        'tool.other',
        'looks at the project',
      ],
      [
        /^(upgrade( head)?|migrate|migrate( apply| run)|migration (up|run)|migrate:(latest|up)|db:(migrate|create|prepare|setup|seed(:all)?|test:prepare)|db:seed|seed:run|migration:(run|up)|up|update|db (seed|migrate)|sqlite3? [\w./-]+\.(db|sqlite3?) up)$/,
        'MEDIUM',
        'db.migrate',
        'migrates a database',
      ],
      [/^(runner|r) ./, 'LOW', '', ''],
      [/^tinker$/, 'LOW', '', ''],
      [/^(runner|r|console|c|shell|tinker|dbshell|dbconsole)( |$)/, 'MEDIUM', 'code.inline', 'runs a program text'],
    ]),
  ),
}

function migrations(rows: VerbRow[]): ProgramRule {
  const rule = verbs({
    ofProject: true,
    rows,
    otherwise: { risk: 'MEDIUM', code: 'db.change', text: 'may change a database' },
    valued: [
      ...['-n', '--name', '-m', '--message', '-c', '--config', '-x', '--schema', '-d', '-dir', '--knexfile'],
      '--dataSource',
      ...['-path', '-database', '-source', '--url', '-url', '--dir', '--migrations-dir', '--database-url'],
    ],
    flags: [
      [
        /^--(force|force-reset|accept-data-loss|drop-database|skip-confirm|fake|isolated=?|shadow-database-url)/,
        'HIGH',
        'db.destroy',
        'loses data, or skips a confirmation or a check',
      ],
    ],
  })
  return call => {
    const text = /^(manage\.py|django-admin)$/.test(call.name) ? findShellText(call) : undefined
    if (text) {
      call.say('script.run', 'MEDIUM', `${call.name} runs a program text with the project loaded`)
      return judgeInline({ ...call, name: 'python3' }, text)
    }
    if (/^manage\.py$/.test(call.name) && judgeTrial(call)) return
    const program = findRunText(call)
    if (program) judgeInline(call, program)
    else if (/^(runner|r|tinker)$/.test(call.args[0]?.value ?? ''))
      call.say('code.inline', 'MEDIUM', `${call.name} runs a program text`)
    // What it would do is printed, and no database is opened.
    if (call.name === 'alembic' && PRINTS_STEPS.test(call.args.map(({ value }) => value).join(' ')))
      return call.say('tool.other', 'MEDIUM', 'alembic prints statements')
    rule(call)
    const unasked = call.args.find(({ value }) => /^--(no-input|noinput)$/.test(value))
    if (unasked && !call.args.some(({ value }) => /^(collectstatic|test|makemigrations|migrate)$/.test(value)))
      call.say('db.destroy', 'HIGH', `${unasked.text}: skips a confirmation`, unasked)
    const printed = call.name === 'supabase' ? findFlag(call.args, ['-o', '--output'])?.arg : undefined
    if (printed) call.say('secret.maybe', 'MEDIUM', `${printed.text} prints the keys of the project`, printed)
    const far = call.args.find(({ value }) => namesFarDatabase(value))
    if (far) call.say('db.change', 'MEDIUM', `${far.text} names a database that is not this project's own`, far)
  }
}

/** Whether a word names a database elsewhere: an address that is not on this machine, or an environment that others use. */
function namesFarDatabase(word: string): boolean {
  if (/\b(prod|production|staging|live|remote|linked)\b/i.test(word)) return true
  if (!word.includes('://')) return false
  const [, host] = /[a-z][a-z0-9+.-]*:\/\/(?:[^@/]*@)?([^/?]*)/i.exec(word) ?? []
  return host !== undefined && !/^(localhost|127\.0\.0\.1|\[::1\]|)(:\d+)?$/.test(host) && !/^sqlite/i.test(word)
}
