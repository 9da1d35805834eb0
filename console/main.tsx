/** The console: everything that a person sees, touches and follows of Berth, in the browser. */
import './app/csp-styles.ts'
import './app/app.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { RouterProvider } from '@tanstack/react-router'
import { router } from './app/router.tsx'

const root = document.getElementById('root')
if (!root) throw new Error('The page has no place for the console.')
createRoot(root).render(
  <StrictMode>
    <RouterProvider router={router} />
  </StrictMode>,
)
