import { appPathsFor } from '../../src/base/app-paths.ts'
import { runDaemon } from '../../src/daemon/main.ts'

// A daemon as a process of its own, without the command line around it.
process.exit(await runDaemon({ paths: appPathsFor({ env: process.env }), env: process.env }))
