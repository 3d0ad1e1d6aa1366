import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'

/** A newer program: it has raised the schema number and keeps the database open until its parent lets it continue. */
const [file = '', schema = '0'] = process.argv.slice(2)
const database = new DatabaseSync(file)
database.exec(`pragma journal_mode = wal; pragma user_version = ${Number(schema)}`)
process.stdout.write('raised\n')
await once(process.stdin, 'data')
database.exec('create table future (x); insert into future values (1)')
process.stdout.write('wrote\n')
database.close()
process.stdin.destroy()
