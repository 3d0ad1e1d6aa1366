import { spawnGuarded } from '../../../src/base/process/guardian.ts'
import type { IsolationLevel } from '../../../src/base/process/isolation.ts'
import { sessionMarker } from '../../../src/base/process/marker.ts'

// A program that owns a guarded child: `node guardian-owner.ts <level> <marker> <script>`. It prints when the child is up, and waits.
const [level, marker = '', script = ''] = process.argv.slice(2)
const child = spawnGuarded({
  command: '/bin/sh',
  args: ['-c', script],
  env: process.env,
  marker: sessionMarker(marker),
  isolation: level as IsolationLevel,
})
child.stdout.pipe(process.stdout)
