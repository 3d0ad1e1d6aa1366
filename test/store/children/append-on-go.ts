import { once } from 'node:events'
import { openStore } from '../../../src/store/open.ts'
import { note, upTo } from '../databases.ts'

/** Opens each store on a message of its parent, so that several do so at once, and appends events one by one. */
const [files = '', name = '', count = '1'] = process.argv.slice(2)
for (const file of files.split(':')) {
  process.stdout.write('ready\n')
  await once(process.stdin, 'data')
  const store = await openStore({ file })
  for (const number of upTo(Number(count))) await store.append([note(`${name}-${number}`)])
  process.stdout.write(`schema ${store.schema}\n`)
  await store.close()
}
process.stdin.destroy()
