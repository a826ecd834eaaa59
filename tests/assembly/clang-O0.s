	.text
	.intel_syntax noprefix
	.file	"shapes.c"
	.globl	table                           # -- Begin function table
	.p2align	4, 0x90
	.type	table,@function
table:                                  # @table
# %bb.0:
	push	rbp
	mov	rbp, rsp
	sub	rsp, 32
	mov	dword ptr [rbp - 8], edi
	mov	eax, dword ptr [rbp - 8]
	add	eax, -10
	mov	ecx, eax
	mov	qword ptr [rbp - 16], rcx       # 8-byte Spill
	sub	eax, 6
	ja	.LBB0_6
# %bb.8:
	mov	rax, qword ptr [rbp - 16]       # 8-byte Reload
	lea	rcx, [rip + .LJTI0_0]
	movsxd	rax, dword ptr [rcx + 4*rax]
	add	rax, rcx
	jmp	rax
.LBB0_1:
	mov	edi, 1
	call	g@PLT
	mov	dword ptr [rbp - 20], eax       # 4-byte Spill
	mov	edi, 1
	call	h@PLT
	mov	ecx, eax
	mov	eax, dword ptr [rbp - 20]       # 4-byte Reload
	add	eax, ecx
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB0_7
.LBB0_2:
	mov	edi, 7
	call	h@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB0_7
.LBB0_3:
	mov	edi, 5
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB0_7
.LBB0_4:
	mov	edi, 9
	call	g@PLT
	mov	edi, eax
	call	h@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB0_7
.LBB0_5:
	mov	edi, 2
	call	h@PLT
	mov	edi, eax
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB0_7
.LBB0_6:
	mov	dword ptr [rbp - 4], 0
.LBB0_7:
	mov	eax, dword ptr [rbp - 4]
	add	rsp, 32
	pop	rbp
	ret
.Lfunc_end0:
	.size	table, .Lfunc_end0-table
	.section	.rodata,"a",@progbits
	.p2align	2
.LJTI0_0:
	.long	.LBB0_1-.LJTI0_0
	.long	.LBB0_2-.LJTI0_0
	.long	.LBB0_3-.LJTI0_0
	.long	.LBB0_4-.LJTI0_0
	.long	.LBB0_5-.LJTI0_0
	.long	.LBB0_6-.LJTI0_0
	.long	.LBB0_4-.LJTI0_0
                                        # -- End function
	.text
	.globl	tree                            # -- Begin function tree
	.p2align	4, 0x90
	.type	tree,@function
tree:                                   # @tree
# %bb.0:
	push	rbp
	mov	rbp, rsp
	sub	rsp, 16
	mov	dword ptr [rbp - 8], edi
	mov	eax, dword ptr [rbp - 8]
	mov	dword ptr [rbp - 12], eax       # 4-byte Spill
	sub	eax, -70
	je	.LBB1_1
	jmp	.LBB1_9
.LBB1_9:
	mov	eax, dword ptr [rbp - 12]       # 4-byte Reload
	sub	eax, 3
	je	.LBB1_2
	jmp	.LBB1_10
.LBB1_10:
	mov	eax, dword ptr [rbp - 12]       # 4-byte Reload
	sub	eax, 500
	je	.LBB1_3
	jmp	.LBB1_11
.LBB1_11:
	mov	eax, dword ptr [rbp - 12]       # 4-byte Reload
	sub	eax, 9000
	je	.LBB1_4
	jmp	.LBB1_12
.LBB1_12:
	mov	eax, dword ptr [rbp - 12]       # 4-byte Reload
	sub	eax, 70000
	je	.LBB1_5
	jmp	.LBB1_13
.LBB1_13:
	mov	eax, dword ptr [rbp - 12]       # 4-byte Reload
	sub	eax, 800000
	je	.LBB1_6
	jmp	.LBB1_7
.LBB1_1:
	mov	edi, 1
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB1_8
.LBB1_2:
	mov	edi, 2
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB1_8
.LBB1_3:
	mov	edi, 3
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB1_8
.LBB1_4:
	mov	edi, 4
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB1_8
.LBB1_5:
	mov	edi, 5
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB1_8
.LBB1_6:
	mov	edi, 6
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB1_8
.LBB1_7:
	xor	edi, edi
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
.LBB1_8:
	mov	eax, dword ptr [rbp - 4]
	add	rsp, 16
	pop	rbp
	ret
.Lfunc_end1:
	.size	tree, .Lfunc_end1-tree
                                        # -- End function
	.globl	bits                            # -- Begin function bits
	.p2align	4, 0x90
	.type	bits,@function
bits:                                   # @bits
# %bb.0:
	push	rbp
	mov	rbp, rsp
	sub	rsp, 16
	mov	al, dil
	mov	byte ptr [rbp - 5], al
	movzx	eax, byte ptr [rbp - 5]
	mov	dword ptr [rbp - 12], eax       # 4-byte Spill
	add	eax, -9
	sub	eax, 2
	jb	.LBB2_1
	jmp	.LBB2_5
.LBB2_5:
	mov	eax, dword ptr [rbp - 12]       # 4-byte Reload
	sub	eax, 13
	je	.LBB2_1
	jmp	.LBB2_6
.LBB2_6:
	mov	eax, dword ptr [rbp - 12]       # 4-byte Reload
	sub	eax, 32
	je	.LBB2_1
	jmp	.LBB2_7
.LBB2_7:
	mov	eax, dword ptr [rbp - 12]       # 4-byte Reload
	sub	eax, 44
	je	.LBB2_2
	jmp	.LBB2_8
.LBB2_8:
	mov	eax, dword ptr [rbp - 12]       # 4-byte Reload
	sub	eax, 58
	je	.LBB2_2
	jmp	.LBB2_9
.LBB2_9:
	mov	eax, dword ptr [rbp - 12]       # 4-byte Reload
	sub	eax, 61
	je	.LBB2_2
	jmp	.LBB2_3
.LBB2_1:
	mov	edi, 1
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB2_4
.LBB2_2:
	mov	edi, 2
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB2_4
.LBB2_3:
	mov	dword ptr [rbp - 4], 0
.LBB2_4:
	mov	eax, dword ptr [rbp - 4]
	add	rsp, 16
	pop	rbp
	ret
.Lfunc_end2:
	.size	bits, .Lfunc_end2-bits
                                        # -- End function
	.globl	mixed                           # -- Begin function mixed
	.p2align	4, 0x90
	.type	mixed,@function
mixed:                                  # @mixed
# %bb.0:
	push	rbp
	mov	rbp, rsp
	sub	rsp, 32
	mov	qword ptr [rbp - 16], rdi
	mov	rax, qword ptr [rbp - 16]
	mov	qword ptr [rbp - 24], rax       # 8-byte Spill
	movabs	rcx, -5000000000
	sub	rax, rcx
	je	.LBB3_1
	jmp	.LBB3_11
.LBB3_11:
	mov	rax, qword ptr [rbp - 24]       # 8-byte Reload
	sub	rax, 1
	je	.LBB3_2
	jmp	.LBB3_12
.LBB3_12:
	mov	rax, qword ptr [rbp - 24]       # 8-byte Reload
	sub	rax, 2
	je	.LBB3_3
	jmp	.LBB3_13
.LBB3_13:
	mov	rax, qword ptr [rbp - 24]       # 8-byte Reload
	sub	rax, 3
	je	.LBB3_4
	jmp	.LBB3_14
.LBB3_14:
	mov	rax, qword ptr [rbp - 24]       # 8-byte Reload
	sub	rax, 4
	je	.LBB3_5
	jmp	.LBB3_15
.LBB3_15:
	mov	rax, qword ptr [rbp - 24]       # 8-byte Reload
	sub	rax, 5
	je	.LBB3_6
	jmp	.LBB3_16
.LBB3_16:
	mov	rax, qword ptr [rbp - 24]       # 8-byte Reload
	sub	rax, 40
	je	.LBB3_7
	jmp	.LBB3_17
.LBB3_17:
	mov	rax, qword ptr [rbp - 24]       # 8-byte Reload
	sub	rax, 42
	je	.LBB3_7
	jmp	.LBB3_18
.LBB3_18:
	mov	rax, qword ptr [rbp - 24]       # 8-byte Reload
	sub	rax, 44
	je	.LBB3_7
	jmp	.LBB3_19
.LBB3_19:
	mov	rax, qword ptr [rbp - 24]       # 8-byte Reload
	sub	rax, 47
	je	.LBB3_7
	jmp	.LBB3_20
.LBB3_20:
	mov	rax, qword ptr [rbp - 24]       # 8-byte Reload
	movabs	rcx, 7000000000
	sub	rax, rcx
	je	.LBB3_8
	jmp	.LBB3_9
.LBB3_1:
	mov	edi, 1
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB3_10
.LBB3_2:
	mov	edi, 2
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB3_10
.LBB3_3:
	mov	edi, 3
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB3_10
.LBB3_4:
	mov	edi, 4
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB3_10
.LBB3_5:
	mov	edi, 5
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB3_10
.LBB3_6:
	mov	edi, 6
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB3_10
.LBB3_7:
	mov	edi, 7
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB3_10
.LBB3_8:
	mov	edi, 8
	call	g@PLT
	mov	dword ptr [rbp - 4], eax
	jmp	.LBB3_10
.LBB3_9:
	mov	dword ptr [rbp - 4], 0
.LBB3_10:
	mov	eax, dword ptr [rbp - 4]
	add	rsp, 32
	pop	rbp
	ret
.Lfunc_end3:
	.size	mixed, .Lfunc_end3-mixed
                                        # -- End function
	.globl	letters                         # -- Begin function letters
	.p2align	4, 0x90
	.type	letters,@function
letters:                                # @letters
# %bb.0:
	push	rbp
	mov	rbp, rsp
	sub	rsp, 16
	mov	qword ptr [rbp - 8], rdi
.LBB4_1:                                # =>This Inner Loop Header: Depth=1
	mov	rax, qword ptr [rbp - 8]
	cmp	byte ptr [rax], 0
	je	.LBB4_11
# %bb.2:                                #   in Loop: Header=BB4_1 Depth=1
	mov	rax, qword ptr [rbp - 8]
	movsx	eax, byte ptr [rax]
	add	eax, -97
	mov	ecx, eax
	mov	qword ptr [rbp - 16], rcx       # 8-byte Spill
	sub	eax, 24
	ja	.LBB4_9
# %bb.12:                               #   in Loop: Header=BB4_1 Depth=1
	mov	rax, qword ptr [rbp - 16]       # 8-byte Reload
	lea	rcx, [rip + .LJTI4_0]
	movsxd	rax, dword ptr [rcx + 4*rax]
	add	rax, rcx
	jmp	rax
.LBB4_3:                                #   in Loop: Header=BB4_1 Depth=1
	mov	edi, 1
	call	g@PLT
	jmp	.LBB4_9
.LBB4_4:                                #   in Loop: Header=BB4_1 Depth=1
	mov	edi, 2
	call	h@PLT
	jmp	.LBB4_9
.LBB4_5:                                #   in Loop: Header=BB4_1 Depth=1
	mov	edi, 3
	call	h@PLT
	mov	edi, eax
	call	g@PLT
	jmp	.LBB4_9
.LBB4_6:                                #   in Loop: Header=BB4_1 Depth=1
	mov	edi, 4
	call	g@PLT
	mov	edi, eax
	call	h@PLT
	jmp	.LBB4_9
.LBB4_7:                                #   in Loop: Header=BB4_1 Depth=1
	mov	edi, 5
	call	g@PLT
	mov	edi, 5
	call	h@PLT
	jmp	.LBB4_9
.LBB4_8:                                #   in Loop: Header=BB4_1 Depth=1
	mov	edi, 6
	call	h@PLT
	mov	edi, 6
	call	g@PLT
.LBB4_9:                                #   in Loop: Header=BB4_1 Depth=1
	jmp	.LBB4_10
.LBB4_10:                               #   in Loop: Header=BB4_1 Depth=1
	mov	rax, qword ptr [rbp - 8]
	add	rax, 1
	mov	qword ptr [rbp - 8], rax
	jmp	.LBB4_1
.LBB4_11:
	add	rsp, 16
	pop	rbp
	ret
.Lfunc_end4:
	.size	letters, .Lfunc_end4-letters
	.section	.rodata,"a",@progbits
	.p2align	2
.LJTI4_0:
	.long	.LBB4_3-.LJTI4_0
	.long	.LBB4_4-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_5-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_6-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_7-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_9-.LJTI4_0
	.long	.LBB4_8-.LJTI4_0
                                        # -- End function
	.text
	.globl	stride                          # -- Begin function stride
	.p2align	4, 0x90
	.type	stride,@function
stride:                                 # @stride
# %bb.0:
	push	rbp
	mov	rbp, rsp
	sub	rsp, 16
	mov	dword ptr [rbp - 4], edi
	mov	eax, dword ptr [rbp - 4]
	add	eax, -100
	mov	ecx, eax
	mov	qword ptr [rbp - 16], rcx       # 8-byte Spill
	sub	eax, 16
	ja	.LBB5_6
# %bb.7:
	mov	rax, qword ptr [rbp - 16]       # 8-byte Reload
	lea	rcx, [rip + .LJTI5_0]
	movsxd	rax, dword ptr [rcx + 4*rax]
	add	rax, rcx
	jmp	rax
.LBB5_1:
	mov	edi, 1
	call	g@PLT
	jmp	.LBB5_6
.LBB5_2:
	mov	edi, 2
	call	h@PLT
	jmp	.LBB5_6
.LBB5_3:
	mov	edi, 3
	call	h@PLT
	mov	edi, eax
	call	g@PLT
	jmp	.LBB5_6
.LBB5_4:
	mov	edi, 4
	call	g@PLT
	mov	edi, eax
	call	h@PLT
	jmp	.LBB5_6
.LBB5_5:
	mov	edi, 5
	call	g@PLT
	mov	edi, 5
	call	h@PLT
.LBB5_6:
	add	rsp, 16
	pop	rbp
	ret
.Lfunc_end5:
	.size	stride, .Lfunc_end5-stride
	.section	.rodata,"a",@progbits
	.p2align	2
.LJTI5_0:
	.long	.LBB5_1-.LJTI5_0
	.long	.LBB5_6-.LJTI5_0
	.long	.LBB5_6-.LJTI5_0
	.long	.LBB5_6-.LJTI5_0
	.long	.LBB5_2-.LJTI5_0
	.long	.LBB5_6-.LJTI5_0
	.long	.LBB5_6-.LJTI5_0
	.long	.LBB5_6-.LJTI5_0
	.long	.LBB5_3-.LJTI5_0
	.long	.LBB5_6-.LJTI5_0
	.long	.LBB5_6-.LJTI5_0
	.long	.LBB5_6-.LJTI5_0
	.long	.LBB5_4-.LJTI5_0
	.long	.LBB5_6-.LJTI5_0
	.long	.LBB5_6-.LJTI5_0
	.long	.LBB5_6-.LJTI5_0
	.long	.LBB5_5-.LJTI5_0
                                        # -- End function
	.ident	"Debian clang version 14.0.6"
	.section	".note.GNU-stack","",@progbits
