import { claudeTmux } from '../../adapters/claude-tmux.ts'
import { conformance } from '../../conformance.ts'

conformance('Claude Code in tmux', claudeTmux)
